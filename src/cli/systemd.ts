/**
 * Reports the state of the service to systemd (`Type=notify`) with the program `systemd-notify`, because Node has no
 * Unix datagram sockets. One call takes about 10 ms in another process.
 *
 * The message comes from a child of this process, so the unit needs `NotifyAccess=all`.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Logger } from '../index.ts'

const run = promisify(execFile)
/** Timeout of one call. */
const TIMEOUT_MS = 10_000
const SHORTEST_WATCHDOG_MS = 1000

export class Systemd {
  readonly #socket: string
  readonly #watchdogMs: number | undefined
  readonly #log: () => Logger
  #sending: Promise<void> = Promise.resolve()
  /** Undefined until the service is ready. */
  #status: string | undefined
  #timer: NodeJS.Timeout | undefined
  #hasWarned = false

  /**
   * Returns undefined when systemd expects no notifications. Removes the variables, so that programs started by jobs do
   * not notify systemd in this service's name.
   */
  static fromEnvironment(log: () => Logger, env: NodeJS.ProcessEnv = process.env): Systemd | undefined {
    const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: usec, WATCHDOG_PID: pid } = env
    for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name]
    if (!socket) return undefined
    const ours = pid === undefined || Number(pid) === process.pid
    return new Systemd(socket, log, ours && usec ? Number(usec) / 1000 : undefined)
  }

  private constructor(socket: string, log: () => Logger, watchdogMs: number | undefined) {
    this.#socket = socket
    this.#log = log
    this.#watchdogMs = watchdogMs
  }

  /** Reports that the service is ready, and serves the watchdog as long as the event loop runs. */
  ready(status: string): void {
    this.#status = status
    this.#send('READY=1', `STATUS=${status}`)
    const ms = this.#watchdogMs
    if (ms === undefined) return
    if (!(ms >= SHORTEST_WATCHDOG_MS)) {
      this.#log().warn({ ms }, 'WATCHDOG_USEC must be at least 1000000 (one second); the watchdog is not served')
      return
    }
    this.#timer = setInterval(() => this.#send('WATCHDOG=1'), ms / 2)
    this.#timer.unref()
  }

  /** Sets the text that `systemctl status` shows. */
  status(status: string): void {
    if (this.#status === undefined || status === this.#status) return
    this.#status = status
    this.#send(`STATUS=${status}`)
  }

  stopping(): void {
    this.#send('STOPPING=1', 'STATUS=stopping')
  }

  /** Resolves when all notifications are sent. */
  async end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sending
  }

  /** Sends one notification after the other, because their order matters. */
  #send(...assignments: string[]): void {
    this.#sending = this.#sending.then(async () => {
      try {
        const env = { ...process.env, NOTIFY_SOCKET: this.#socket }
        await run('systemd-notify', assignments, { env, timeout: TIMEOUT_MS })
      } catch (thrown) {
        if (this.#hasWarned) return
        this.#hasWarned = true
        const { code, stderr } = thrown as { code?: unknown; stderr?: string }
        const why = code === 'ENOENT' ? 'systemd-notify is not installed; use Type=exec' : stderr?.trim()
        this.#log().warn({ err: thrown }, `systemd could not be notified: ${why}`)
      }
    })
  }
}
