/** Lists the jobs of owners, and moves those of claimed owners back to their queues. */

import { hasCode } from '../../../job/errors.ts'
import type { OrphanedJob, OwnedJob, Rescue, SwapAnswer, WorkerStore } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { chunksOf, chunksOfGroups, IN_ORDER } from '../server/chunks.ts'
import { type Server, StorePart } from '../server/server.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { heldQueues } from './held-queues.ts'
import { type Leases, TEXTS_AT_ONCE } from './leases.ts'
import { localTicket, serverTicket } from './owner.ts'

/** How many queues of owners one script reads, so that other commands do not wait long for it. */
const OWNED_AT_ONCE = 250
/** The most jobs that one script moves, unless one owner has more from one queue. */
const MAX_JOBS = 100
/** An orphaned job with this prefix in its ticket is in the list of arrivals; the rest of the ticket is its text. */
const ARRIVAL = '='

export class OwnedJobs extends StorePart implements Partial<WorkerStore> {
  readonly #leases: Leases
  readonly #tasks: Tasks

  constructor(server: Server, leases: Leases, tasks: Tasks) {
    super(server)
    this.#leases = leases
    this.#tasks = tasks
  }

  async orphaned(limit: number, characters = Number.POSITIVE_INFINITY): Promise<OrphanedJob[]> {
    const claimed = await this.#leases.claimedOwners()
    let broken: unknown
    // The process that claimed an owner may have died before it interrupted the owner's tasks.
    if (claimed.length > 0) {
      await this.#tasks.interrupt(new Set(claimed), Date.now()).catch((thrown) => {
        broken = thrown
      })
    }
    const orphaned = await this.#orphaned(claimed, limit, characters)
    // A task that can't be interrupted must not block the rescue of other owners' jobs.
    if (orphaned.length === 0 && broken) throw broken
    return orphaned
  }

  /** Returns the jobs of one owner after the other, and removes owners that were claimed long ago. */
  async #orphaned(owners: readonly string[], limit: number, characters: number): Promise<OrphanedJob[]> {
    const orphaned: OrphanedJob[] = []
    let left = characters
    let broken: unknown
    // Most of these owners hold no job and are only remembered.
    const held = await heldQueues(await this.server.ready(), this.keys, owners)
    const holders = new Set(held.map(({ owner }) => owner))
    await this.#leases.removeOld((owner) => holders.has(owner))
    for (const { owner, queue } of held) {
      if (orphaned.length >= limit || left <= 0) break
      try {
        const some = await this.#orphanedOf(owner, queue, limit - orphaned.length, left)
        for (const one of some) left -= one.text.length
        orphaned.push(...some)
      } catch (thrown) {
        // A key of the wrong type belongs to this owner only: the jobs of the others are still rescued.
        if (!hasCode(thrown, 'STORE_UNUSABLE')) throw thrown
        broken ??= thrown
      }
    }
    if (orphaned.length === 0 && broken) throw broken
    return orphaned
  }

  /**
   * Returns an owner's jobs in a queue: arrivals, then others, newest first. Each goes to the front of the queue, before those
   * moved earlier, so the arrivals end up behind the others.
   */
  async #orphanedOf(owner: string, queue: string, limit: number, characters: number): Promise<OrphanedJob[]> {
    const { keys, texts } = this.server
    const working = keys.working(queue, owner)
    const [list, fields] = await Promise.all([
      this.server.call((client) => client.lrangeBuffer(keys.arriving(queue, owner), 0, limit - 1)),
      this.server.call((client) => client.hkeys(working)),
    ])
    let left = characters
    const orphaned: OrphanedJob[] = []
    const add = (ticket: string | undefined, bytes: Buffer) => {
      if (left <= 0 || orphaned.length >= limit) return
      const text = texts.read(bytes)
      left -= text.length
      orphaned.push({ owner, queue, ticket: ticket ?? ARRIVAL + text, text })
    }
    for (const bytes of list) add(undefined, bytes)
    const tickets = fields.sort((a, b) => Number(b) - Number(a))
    for (let from = 0; from < tickets.length && left > 0 && orphaned.length < limit; from += TEXTS_AT_ONCE) {
      const some = tickets.slice(from, from + TEXTS_AT_ONCE)
      const answers = await this.server.call((client) => client.hmgetBuffer(working, ...some))
      for (const [i, ticket] of some.entries()) {
        const bytes = answers[i]
        if (bytes) add(localName(ticket), bytes)
      }
    }
    return orphaned
  }

  async rescue(items: readonly Rescue[], now: number): Promise<SwapAnswer[]> {
    const { keys } = this
    const answers: SwapAnswer[] = []
    const lengthOf = ({ to }: Rescue) => 2 * (to?.text.length ?? 0)
    const groups = groupsOf(items).flatMap((one) => [...chunksOf(one, lengthOf, IN_ORDER.count, IN_ORDER.length)])
    for (const some of chunksOfGroups(groups, lengthOf, MAX_JOBS)) {
      const moved = await this.server.moveJobs(lua.rescue, now, [], some, (call) => {
        call.add(some.length)
        for (const { owner, queue, ticket, to, effects } of some) {
          const isArrival = ticket.startsWith(ARRIVAL)
          call.add(owner, call.key(keys.leases))
          call.add(call.key(keys.working(queue, owner)), call.key(keys.arriving(queue, owner)))
          call.add(
            isArrival ? 'arrival' : 'ticket',
            isArrival ? this.server.texts.write(ticket.slice(1)) : serverName(ticket),
          )
          call.item(to, effects)
        }
      })
      answers.push(...moved)
    }
    return answers
  }

  /** A page ends between two owners, so it may exceed `limit` by the jobs of one owner: its slots, and those fetched ahead. */
  async fetched({
    after = '',
    limit,
  }: {
    after?: string | undefined
    limit: number
  }): Promise<{ items: OwnedJob[]; next: string | null }> {
    const { keys, texts } = this.server
    const all = (await this.#leases.ownedQueues())
      .filter((one) => nameOf(one) > after)
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    const items: OwnedJob[] = []
    let done = 0
    while (done < all.length && items.length < limit) {
      const keysOf = ({ queue, owner }: { queue: string; owner: string }) => [
        keys.working(queue, owner),
        keys.arriving(queue, owner),
      ]
      const some = all.slice(done, done + OWNED_AT_ONCE).flatMap(keysOf)
      const answer = await this.server.runForBytes(lua.readOwned, some, [limit - items.length])
      for (let at = 0; at < answer.length; done++) {
        const { queue, owner } = all[done] as { queue: string; owner: string }
        const end = at + 1 + Number(answer[at])
        for (const bytes of answer.slice(at + 1, end)) items.push({ owner, queue, text: texts.read(bytes) })
        at = end
      }
    }
    const last = all[done - 1]
    return { items, next: done < all.length && last ? nameOf(last) : null }
  }
}

/** Groups consecutive jobs of one owner and queue. */
function groupsOf(items: readonly Rescue[]): Rescue[][] {
  const groups: Rescue[][] = []
  for (const item of items) {
    const group = groups.at(-1)
    if (group?.[0]?.owner === item.owner && group[0].queue === item.queue) group.push(item)
    else groups.push([item])
  }
  return groups
}

function nameOf({ queue, owner }: { queue: string; owner: string }): string {
  return `${queue}\n${owner}`
}

/** Returns the name of a ticket in this process. A field that this program did not write keeps its name. */
function localName(field: string): string {
  const ticket = localTicket(field)
  return serverTicket(ticket) === field ? String(ticket) : field
}

/** The reverse of `localName`. */
function serverName(ticket: string): string {
  const number = Number(ticket)
  return String(number) === ticket && Number.isSafeInteger(number) ? serverTicket(number) : ticket
}
