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

export type Systemd = NonNullable<ReturnType<typeof systemdOf>>

/**
 * Returns undefined when systemd expects no notifications. Removes the variables, so that programs started by jobs do
 * not notify systemd in this service's name.
 */
export function systemdOf(log: () => Logger) {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: usec, WATCHDOG_PID: pid } = process.env
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete process.env[name]
  if (!socket) return undefined
  const isOurs = pid === undefined || Number(pid) === process.pid
  const watchdogMs = isOurs && usec ? Number(usec) / 1000 : undefined
  let sending: Promise<void> = Promise.resolve()
  /** Undefined until the service is ready. */
  let shown: string | undefined
  let timer: NodeJS.Timeout | undefined
  let hasWarned = false

  /** Sends one notification after the other, because their order matters. */
  const send = (...assignments: string[]) => {
    sending = sending.then(async () => {
      try {
        const env = { ...process.env, NOTIFY_SOCKET: socket }
        await run('systemd-notify', assignments, { env, timeout: TIMEOUT_MS })
      } catch (thrown) {
        if (hasWarned) return
        hasWarned = true
        const { code, stderr } = thrown as { code?: unknown; stderr?: string }
        const why = code === 'ENOENT' ? 'systemd-notify is not installed; use Type=exec' : stderr?.trim()
        log().warn({ err: thrown }, `systemd could not be notified: ${why}`)
      }
    })
  }
  return {
    /** Reports that the service is ready, and serves the watchdog as long as the event loop runs. */
    ready(status: string): void {
      shown = status
      send('READY=1', `STATUS=${status}`)
      if (watchdogMs === undefined) return
      if (watchdogMs >= SHORTEST_WATCHDOG_MS) timer = setInterval(() => send('WATCHDOG=1'), watchdogMs / 2).unref()
      else {
        const message = 'WATCHDOG_USEC must be at least 1000000 (one second); the watchdog is not served'
        log().warn({ ms: watchdogMs }, message)
      }
    },
    /** Sets the text that `systemctl status` shows. */
    status(status: string): void {
      if (shown === undefined || status === shown) return
      shown = status
      send(`STATUS=${status}`)
    },
    stopping: (): void => send('STOPPING=1', 'STATUS=stopping'),
    /** Resolves when all notifications are sent. */
    async end(): Promise<void> {
      clearInterval(timer)
      await sending
    },
  }
}
