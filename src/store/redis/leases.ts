/** Leases on Redis: the owners, the ends of their leases, and the jobs of dead owners. */

import { hasCode } from '../../job/errors.ts'
import { type Lease, machineOf, type OrphanedJob, type Rescue, type SwapAnswer } from '../contract.ts'
import { tasksOf } from './call.ts'
import { lua } from './lua.generated.ts'
import type { Owner } from './owner.ts'
import { pieces } from './queues.ts'
import type { Server } from './server.ts'
import { ANSWERS } from './sets.ts'

/** A claimed owner's name is known for so long: the server may still serve a wait of it. */
const REMEMBERED_MS = 3_600_000
const PAGE = 100
/** Texts that are read at a time: each may be large. */
export const FEW = 10
/** How a ticket of `stranded` begins that stands for a text in the list of arrivals. */
const ARRIVAL = '='
const STANDARD_SECONDS = 15

/** The prefix of the fields of an owner's hash that name its queues. */
const QUEUE_FIELD = 'q '

/** The hash of one owner. */
interface OwnerRecord {
  seconds: number
  host: string
  queues: string[]
}

export class Leases {
  readonly #server: Server
  /** The longest lease that was asked for here. */
  #seconds = 0

  constructor(server: Server) {
    this.#server = server
  }

  async join(owner: string, queues: readonly string[], seconds: number, host: string): Promise<boolean> {
    const { keys } = this.#server
    this.#seconds = Math.max(this.#seconds, seconds)
    const main = await this.#server.ready()
    const all = [keys.leases, keys.renewals, keys.owner(owner), keys.machine(machineOf(host))]
    return (await main.run(lua.join, all, [owner, seconds, host, ...new Set(queues)])) === 1
  }

  /** False: the owner has no lease (any more). */
  async enter(owner: Owner, queue: string): Promise<boolean> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    if ((await main.run(lua.enter, [keys.leases, keys.owner(owner.name)], [owner.name, queue])) !== 1) return false
    owner.queues.add(queue)
    return true
  }

  async renew(owner: string, seconds: number): Promise<boolean> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    return (await main.run(lua.renew, [keys.leases, keys.renewals, keys.owner(owner)], [owner, seconds])) === 1
  }

  /** Strikes an owner off if it holds nothing. */
  async leave({ name, queues }: Owner): Promise<boolean> {
    const { host, queues: others } = await this.recordOf(name)
    return this.#strike(name, { host, queues: [...new Set([...queues, ...others])] }, '')
  }

  async list(): Promise<Lease[]> {
    const main = await this.#server.ready()
    return this.#leasesOf(await main.call((client) => client.zrange(this.#server.keys.leases, '0', '-1', 'WITHSCORES')))
  }

  async ownersOn(machine: string): Promise<{ owner: string; host: string }[]> {
    const main = await this.#server.ready()
    const hosts = await main.call((client) => client.hgetall(this.#server.keys.machine(machine)))
    return Object.entries(hosts).map(([owner, host]) => ({ owner, host }))
  }

  /** Returns the newest stamp; with `since`, also the unclaimed owners that have not renewed since that stamp. */
  async unrenewed(since: number | null): Promise<{ stamp: number; leases: Lease[] }> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const [stamp, scores] = (await main.all((pipeline) => {
      pipeline.get(keys.renewals)
      if (since !== null) pipeline.zrangebyscore(keys.leases, '0', since, 'WITHSCORES')
    })) as [string | null, string[] | undefined]
    return { stamp: Number(stamp ?? 0), leases: scores ? await this.#leasesOf(scores) : [] }
  }

  /** `known`: queues that it had, should it be listed nowhere any more. */
  async claim(owner: string, ends: number | null, known: Iterable<string> = []): Promise<boolean> {
    const { main, keys } = this.#server
    // In an outage everybody's lease ends: who has just come back lets the others come back too.
    const grace = ((this.#seconds || STANDARD_SECONDS) * 1000 * 2) / 3
    await this.#server.ready()
    if (ends !== null && main.unbrokenFor < grace) return false
    const { host, queues } = await this.recordOf(owner)
    let unlisted: string[] = []
    if (queues.length === 0 && (ends === 0 || ends === null)) {
      const found = (await this.#found()).filter((one) => one.owner === owner).map(({ queue }) => queue)
      unlisted = [...new Set([...known, ...found])]
    }
    const all = [keys.leases, keys.owner(owner), keys.machine(machineOf(host))]
    return (await main.run(lua.claim, all, [owner, ends ?? '', ...unlisted])) === 1
  }

  /** Jobs of claimed owners, newest first in each queue; forgets owners that were claimed long ago. */
  async stranded(limit: number): Promise<OrphanedJob[]> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const stranded: OrphanedJob[] = []
    let broken: unknown
    const claimed = await this.#queuesOf(await this.claimed())
    // Most of them hold nothing and are only remembered.
    const holding = (await main.all((pipeline) => {
      for (const { owner, queue } of claimed) {
        pipeline.exists(keys.working(queue, owner), keys.arriving(queue, owner))
      }
    })) as number[]
    const holders = new Set(claimed.filter((_, i) => holding[i] !== 0).map(({ owner }) => owner))
    await this.#forgetOld((owner) => holders.has(owner))
    for (const [i, { owner, queue }] of claimed.entries()) {
      if (holding[i] === 0) continue
      if (stranded.length >= limit) break
      try {
        stranded.push(...(await this.#strandedOf(owner, queue, limit - stranded.length)))
      } catch (thrown) {
        // A key of one owner holds something else: the others' jobs go on all the same.
        if (!hasCode(thrown, 'STORE_UNUSABLE')) throw thrown
        broken ??= thrown
      }
    }
    if (stranded.length === 0 && broken) throw broken
    return stranded
  }

  /** An owner's jobs in a queue, newest first. */
  async #strandedOf(owner: string, queue: string, limit: number): Promise<OrphanedJob[]> {
    const { keys, main, texts } = this.#server
    const working = keys.working(queue, owner)
    const list = await main.call((client) => client.lrangeBuffer(keys.arriving(queue, owner), 0, limit - 1))
    const stranded = list.map((bytes) => {
      const text = texts.read(bytes)
      return { owner, queue, ticket: ARRIVAL + text, text }
    })
    const tickets = (await main.call((client) => client.hkeys(working))).sort((a, b) => Number(b) - Number(a))
    for (let from = 0; from < tickets.length && stranded.length < limit; from += FEW) {
      const some = tickets.slice(from, from + FEW)
      const held = await main.call((client) => client.hmgetBuffer(working, ...some))
      for (const [i, ticket] of some.entries()) {
        const bytes = held[i]
        if (bytes && stranded.length < limit) stranded.push({ owner, queue, ticket, text: texts.read(bytes) })
      }
    }
    return stranded
  }

  async restore(items: readonly Rescue[], now: number): Promise<SwapAnswer[]> {
    const server = this.#server
    const { keys, texts } = server
    const answers: SwapAnswer[] = []
    await server.learn(tasksOf(items.flatMap(({ effects }) => effects ?? [])))
    const main = await server.ready()
    for (const some of pieces(items, ({ to }) => 2 * (to?.text.length ?? 0), PAGE)) {
      const call = server.call()
      call.key(keys.queues)
      call.add(now, keys.wake, some.length)
      for (const { owner, queue, ticket, to, effects } of some) {
        const isArrival = ticket.startsWith(ARRIVAL)
        call.add(owner, call.key(keys.leases))
        call.add(call.key(keys.working(queue, owner)), call.key(keys.arriving(queue, owner)))
        call.add(isArrival ? 'arrival' : 'ticket', isArrival ? texts.write(ticket.slice(1)) : ticket)
        call.item(to, queue, effects)
      }
      const [letters] = (await main.run(lua.restore, call.keys, call.args)) as [string, string]
      for (const letter of letters) answers.push(ANSWERS[letter] as SwapAnswer)
    }
    return answers
  }

  /** Whether the owner still has its lease. */
  async holds(owner: Owner): Promise<boolean> {
    const stamp = await this.#server.main.call((client) => client.zscore(this.#server.keys.leases, owner.name))
    return Number(stamp ?? -1) >= 0
  }

  async recordOf(owner: string): Promise<OwnerRecord> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    return recordIn(await main.call((client) => client.hgetall(keys.owner(owner))))
  }

  /** Every owner that is listed, claimed or not, in each of its queues. */
  async all(): Promise<{ owner: string; queue: string }[]> {
    const { keys, main } = this.#server
    return this.#queuesOf(await main.call((client) => client.zrange(keys.leases, '0', '-1')))
  }

  async claimed(): Promise<string[]> {
    const { keys, main } = this.#server
    return main.call((client) => client.zrangebyscore(keys.leases, '-inf', '(0'))
  }

  /**
   * Lists owners that hold jobs without a lease: Redis served their wait after they had left. Drops names of queues
   * without tasks.
   */
  async tidy(): Promise<string[]> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    for (const queue of await main.call((client) => client.smembers(keys.ourQueues))) {
      await main.run(
        lua.dropQueue,
        [keys.ourQueues, keys.taskTimes(queue), keys.adding(queue), keys.held(queue), keys.oldLeases(queue)],
        [queue],
      )
    }
    const owners = [...new Set((await this.#found()).map(({ owner }) => owner))]
    if (owners.length === 0) return []
    const stamps = await main.call((client) => client.zmscore(keys.leases, ...owners))
    return owners.filter((_, i) => stamps[i] === null)
  }

  async #found(): Promise<{ queue: string; owner: string }[]> {
    const { keys, main } = this.#server
    const found: { queue: string; owner: string }[] = []
    let cursor = '0'
    do {
      const [next, some] = await main.call((client) => client.scan(cursor, 'MATCH', keys.ownersPattern, 'COUNT', 1000))
      for (const key of some) {
        const parsed = keys.parseOwners(key)
        if (parsed) found.push(parsed)
      }
      cursor = next
    } while (cursor !== '0')
    return found
  }

  /** Reads leases from a flat list of owners and their stamps. */
  async #leasesOf(flat: readonly string[]): Promise<Lease[]> {
    if (flat.length === 0) return []
    const { keys, main } = this.#server
    const owners = flat.filter((_, i) => i % 2 === 0)
    const [time, ...records] = (await main.all((pipeline) => {
      pipeline.time()
      for (const owner of owners) pipeline.hmget(keys.owner(owner), 'seconds', 'host')
    })) as [[string, string], ...(string | null)[][]]
    const now = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000)
    return owners.map((owner, i) => {
      const stamp = Number(flat[2 * i + 1])
      const [seconds, host] = records[i] ?? []
      const claimed = stamp < 0
      const ends = claimed ? -stamp : stamp + Number(seconds ?? 0) * 1000
      const ended = claimed || ends < now
      return { owner, host: host ?? '', seconds: Number(seconds ?? 0), renewed: stamp, ends, ended, claimed }
    })
  }

  async #queuesOf(owners: readonly string[]): Promise<{ owner: string; queue: string }[]> {
    const { keys, main } = this.#server
    const fields = (await main.all((pipeline) => {
      for (const owner of owners) pipeline.hkeys(keys.owner(owner))
    })) as string[][]
    return owners.flatMap((owner, i) => queuesIn(fields[i] ?? []).map((queue) => ({ owner, queue })))
  }

  /** Removes owners that were claimed long ago and hold no jobs. */
  async #forgetOld(isHolding: (owner: string) => boolean): Promise<void> {
    const { keys, main } = this.#server
    const [seconds] = (await main.call((client) => client.time())) as unknown as [string, string]
    const until = REMEMBERED_MS - Number(seconds) * 1000
    const old = await main.call((client) => client.zrangebyscore(keys.leases, `(${until}`, '(0'))
    for (const owner of old) {
      if (!isHolding(owner)) await this.#strike(owner, await this.recordOf(owner), until)
    }
  }

  async #strike(
    owner: string,
    { host, queues }: Pick<OwnerRecord, 'host' | 'queues'>,
    until: number | '',
  ): Promise<boolean> {
    const { keys } = this.#server
    const own = queues.flatMap((queue) => [
      keys.working(queue, owner),
      keys.arriving(queue, owner),
      keys.settled(queue, owner),
    ])
    const main = await this.#server.ready()
    const all = [keys.leases, keys.owner(owner), keys.machine(machineOf(host)), ...own]
    return (await main.run(lua.leave, all, [owner, until])) === 1
  }
}

function recordIn(fields: Record<string, string>): OwnerRecord {
  return { seconds: Number(fields.seconds ?? 0), host: fields.host ?? '', queues: queuesIn(Object.keys(fields)) }
}

function queuesIn(fields: readonly string[]): string[] {
  return fields.filter((field) => field.startsWith(QUEUE_FIELD)).map((field) => field.slice(QUEUE_FIELD.length))
}
