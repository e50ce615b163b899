/** Duties: what one process at a time should do. They save work; what is done under them must be safe without them. */

import { lua } from './lua.generated.ts'
import type { Server } from './server.ts'

export class Duties {
  readonly #server: Server
  /** Makes each value another one than all before it. */
  #calls = 0
  /** Values of other holders, and since when they are unchanged on the monotonic clock. */
  readonly #seen = new Map<string, { value: string; since: number }>()

  constructor(server: Server) {
    this.#server = server
  }

  /**
   * A duty is free when its time is over by the server's clock. When that clock was set back, it is also free once this
   * process has seen it unchanged for `seconds`.
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
