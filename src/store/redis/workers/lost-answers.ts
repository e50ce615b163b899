/**
 * Finds jobs on the server that belong to an owner of this process and whose answer was lost. This is not the rescue of the
 * jobs of dead workers (`worker/lease/rescuer.ts`): the owner is alive. Its next settleAndFetch returns these jobs; otherwise they
 * are requeued.
 */

import type { Connection } from '../server/connection.ts'
import type { Server } from '../server/server.ts'
import { heldQueues } from './held-queues.ts'
import { TEXTS_AT_ONCE } from './leases.ts'
import { localTicket, type Owner, serverTicket } from './owner.ts'

export class LostAnswers {
  readonly #server: Server
  readonly #connection: () => Connection

  /** `connection`: also that of settleAndFetch, so that answers come in the order of the requests. */
  constructor(server: Server, connection: () => Connection) {
    this.#server = server
    this.#connection = connection
  }

  /** Searches once. A second call for the same owner waits for the first. Rejects when the server does not answer. */
  run(owner: Owner): Promise<void> {
    owner.reconciling ??= this.#run(owner).finally(() => {
      owner.reconciling = undefined
    })
    return owner.reconciling
  }

  async #run(owner: Owner): Promise<void> {
    const connection = this.#connection()
    await connection.ready()
    // No job may arrive meanwhile: this process knows of it only once it has read the wait's answer.
    while (owner.waits.size > 0) {
      for (const { signal } of owner.waits) signal.stop()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    for (const { queue } of await heldQueues(connection, this.#server.keys, [owner.name])) {
      await this.#tickets(connection, owner, queue)
      await this.#arrivals(connection, owner, queue)
    }
  }

  /** Compares with the jobs that were known when the command was sent: later answers concern later jobs. */
  async #tickets(connection: Connection, owner: Owner, queue: string): Promise<void> {
    const key = this.#server.keys.working(queue, owner.name)
    const known = new Set(owner.jobs.keys())
    const underWay = [...owner.pendingTickets]
    const tickets = (await connection.call((client) => client.hkeys(key))).map(localTicket)
    const lost = tickets
      .filter((ticket) => Number.isSafeInteger(ticket) && !known.has(String(ticket)))
      // Calls that are under way report these tickets themselves.
      .filter((ticket) => !underWay.some(([first, last]) => ticket >= first && ticket <= last))
      .sort((a, b) => a - b)
    if (lost.length === 0) return
    for (let from = 0; from < lost.length; from += TEXTS_AT_ONCE) {
      const some = lost.slice(from, from + TEXTS_AT_ONCE)
      const held = await connection.call((client) => client.hmgetBuffer(key, ...some.map(serverTicket)))
      for (const [i, ticket] of some.entries()) {
        const bytes = held[i]
        if (!bytes || owner.jobs.has(String(ticket))) continue
        owner.addUndelivered(owner.hold(queue, ticket, this.#server.texts.read(bytes)))
      }
    }
  }

  async #arrivals(connection: Connection, owner: Owner, queue: string): Promise<void> {
    const { keys, texts } = this.#server
    const known = new Map<string, number>()
    for (const { queue: of, arrival } of owner.jobs.values()) {
      if (of === queue && arrival !== undefined) known.set(arrival, (known.get(arrival) ?? 0) + 1)
    }
    const list = await connection.call((client) => client.lrangeBuffer(keys.arriving(queue, owner.name), 0, -1))
    // The oldest arrival is at the end.
    for (const bytes of list.reverse()) {
      const text = texts.read(bytes)
      const left = known.get(text) ?? 0
      if (left > 0) known.set(text, left - 1)
      else owner.addUndelivered(owner.arrived(queue, text))
    }
  }
}
