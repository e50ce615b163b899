/**
 * Tells systemd (`Type=notify`) how the service is: sd_notify's protocol, by the program `systemd-notify`, for Node has no
 * datagram sockets of the file system and this package nothing to compile. One call takes about 10 ms, beside this process.
 *
 * The message comes from a child of this process, so the unit needs `NotifyAccess=all`.
 */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Logger } from '../index.ts'

const run = promisify(execFile)
/** Of a manager that does not answer. */
const GIVE_UP_MS = 10_000
const SHORTEST_WATCHDOG_MS = 1000

export class Systemd {
  readonly #socket: string
  readonly #watchdogMs: number | undefined
  readonly #log: () => Logger
  #sending: Promise<void> = Promise.resolve()
  /** Undefined until it is ready. */
  #status: string | undefined
  #timer: NodeJS.Timeout | undefined
  #complained = false

  /**
   * Undefined where systemd does not wait for news. Takes the variables away, so that programs which jobs start do not
   * speak in our name.
   */
  static here(log: () => Logger, env: NodeJS.ProcessEnv = process.env): Systemd | undefined {
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

  /** The jobs run from now on; keeps the watchdog content as long as the event loop turns. */
  ready(status: string): void {
    this.#status = status
    this.#send('READY=1', `STATUS=${status}`)
    const ms = this.#watchdogMs
    if (ms === undefined) return
    if (!(ms >= SHORTEST_WATCHDOG_MS)) {
      this.#log().warn({ ms }, 'WATCHDOG_USEC is below one second: the watchdog is not served')
      return
    }
    this.#timer = setInterval(() => this.#send('WATCHDOG=1'), ms / 2)
    this.#timer.unref()
  }

  /** What `systemctl status` shows. */
  status(status: string): void {
    if (this.#status === undefined || status === this.#status) return
    this.#status = status
    this.#send(`STATUS=${status}`)
  }

  stopping(): void {
    this.#send('STOPPING=1', 'STATUS=stopping')
  }

  /** Resolves when all is told. */
  async end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sending
  }

  /** One after the other, for they mean something in their order. */
  #send(...assignments: string[]): void {
    this.#sending = this.#sending.then(async () => {
      try {
        const env = { ...process.env, NOTIFY_SOCKET: this.#socket }
        await run('systemd-notify', assignments, { env, timeout: GIVE_UP_MS })
      } catch (thrown) {
        if (this.#complained) return
        this.#complained = true
        const { code, stderr } = thrown as { code?: unknown; stderr?: string }
        const why = code === 'ENOENT' ? 'there is no systemd-notify here; use Type=exec' : stderr?.trim()
        this.#log().warn({ err: thrown }, `systemd can't be told of this worker: ${why}`)
      }
    })
  }
}
