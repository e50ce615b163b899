/** Duties: work that one process at a time should do. They only save work: it must be safe when two processes do it. */

import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'

export class Duties {
  readonly #server: Server
  /** Makes each value unique. */
  #calls = 0
  /** The values of other holders, with the time on the monotonic clock since which each is unchanged. */
  readonly #seen = new Map<string, { value: string; since: number }>()

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * Acquires a duty for `seconds`; returns false when another process holds it. A duty is free when it has expired on
   * the server's clock. In case that clock was set back, it is also free once this process has seen it unchanged for
   * `seconds`.
   */
  async hold(duty: string, holder: string, seconds: number): Promise<boolean> {
    const asked = performance.now()
    const seen = this.#seen.get(duty)
    const overdue = seen && asked - seen.since >= seconds * 1000 ? seen.value : ''
    const answer = await this.#run(duty, [holder, `${holder} ${++this.#calls}`, overdue, Math.round(seconds * 1000)])
    if (typeof answer !== 'string') {
      this.#seen.delete(duty)
      return true
    }
    if (answer !== seen?.value) this.#seen.set(duty, { value: answer, since: performance.now() })
    return false
  }

  async release(duty: string, holder: string): Promise<void> {
    await this.#run(duty, [holder, '', '', ''])
  }

  async #run(duty: string, args: (string | number)[]) {
    const main = await this.#server.ready()
    return main.run(lua.hold, [this.#server.keys.duty(duty)], args)
  }
}
