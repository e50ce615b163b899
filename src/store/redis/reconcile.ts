/**
 * Finds jobs that belong to an owner of this process and that nobody here knows of: the answer that would have told was
 * lost on its way. They are handed out with the owner's next turn or wait; if it wants none, they go back to their
 * queue.
 */

import type { Connection } from './connection.ts'
import { FEW } from './leases.ts'
import type { Owner } from './owner.ts'
import type { Server } from './server.ts'

export class Reconciler {
  readonly #server: Server
  readonly #connection: () => Connection

  /** `connection`: that of the turns, so that answers come in the order of what they tell. */
  constructor(server: Server, connection: () => Connection) {
    this.#server = server
    this.#connection = connection
  }

  /** Never two at a time for an owner. Rejects when the server can't be asked. */
  run(owner: Owner): Promise<void> {
    owner.reconciling ??= this.#run(owner).finally(() => {
      owner.reconciling = undefined
    })
    return owner.reconciling
  }

  async #run(owner: Owner): Promise<void> {
    const connection = this.#connection()
    await connection.ready()
    // Nothing may arrive meanwhile: what a wait brings is known only when its answer was read.
    while (owner.waits.size > 0) {
      for (const end of owner.waits) end()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    const { keys } = this.#server
    const own = [...owner.queues].flatMap((queue) => [
      keys.working(queue, owner.name),
      keys.arriving(queue, owner.name),
    ])
    // An idle owner holds nothing in any of its queues, which one command shows.
    if ((await connection.call((client) => client.exists(...own))) === 0) return
    for (const queue of owner.queues) {
      await this.#tickets(connection, owner, queue)
      await this.#arrivals(connection, owner, queue)
    }
  }

  /** What is known is what was known when the question was sent: later answers tell of later times. */
  async #tickets(connection: Connection, owner: Owner, queue: string): Promise<void> {
    const key = this.#server.keys.working(queue, owner.name)
    const known = new Set(owner.held.keys())
    const underWay = [...owner.underWay]
    const tickets = await connection.call((client) => client.hkeys(key))
    const lost = tickets
      .filter((ticket) => !known.has(ticket))
      // Those of calls under way are told by their answers.
      .filter((ticket) => !underWay.some(([first, last]) => Number(ticket) >= first && Number(ticket) <= last))
      .sort((a, b) => Number(a) - Number(b))
    if (lost.length === 0) return
    for (let from = 0; from < lost.length; from += FEW) {
      const some = lost.slice(from, from + FEW)
      const held = await connection.call((client) => client.hmgetBuffer(key, ...some))
      for (const [i, ticket] of some.entries()) {
        const bytes = held[i]
        if (!bytes || owner.held.has(ticket)) continue
        owner.held.set(ticket, { queue, unsure: false })
        owner.found.push({ queue, ticket, text: this.#server.texts.read(bytes) })
      }
    }
  }

  async #arrivals(connection: Connection, owner: Owner, queue: string): Promise<void> {
    const { keys, texts } = this.#server
    const known = new Map<string, number>()
    for (const { queue: of, arrival } of owner.held.values()) {
      if (of === queue && arrival !== undefined) known.set(arrival, (known.get(arrival) ?? 0) + 1)
    }
    const list = await connection.call((client) => client.lrangeBuffer(keys.arriving(queue, owner.name), 0, -1))
    // The oldest is at the end.
    for (const bytes of list.reverse()) {
      const text = texts.read(bytes)
      const left = known.get(text) ?? 0
      if (left > 0) known.set(text, left - 1)
      else owner.found.push(owner.arrived(queue, text))
    }
  }
}
