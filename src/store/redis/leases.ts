/** Who owns what, until when; what the dead left behind; and who has which duty. */

import { performance } from 'node:perf_hooks'
import { hasCode } from '../../job/errors.ts'
import type { Lease, Restore, Stranded, SwapAnswer } from '../contract.ts'
import { tasksOf } from './call.ts'
import { readable } from './connection.ts'
import { lua } from './lua.generated.ts'
import type { Owner } from './owner.ts'
import { pieces } from './queues.ts'
import type { Server } from './server.ts'
import { ANSWERS } from './sets.ts'

/** A claimed owner's name is known for so long: the server may still serve a wait of it. */
const REMEMBERED_MS = 3_600_000
/** Between looks for jobs whose owner is listed nowhere. */
const JANITOR_MS = 600_000
const PAGE = 100
/** Texts that are read at a time: each may be large. */
export const FEW = 10
/** How a ticket of `stranded` begins that stands for a text in the list of arrivals. */
const ARRIVAL = '='
const STANDARD_SECONDS = 15

export class Leases {
  readonly #server: Server
  #janitorAt = performance.now() + JANITOR_MS
  /** Owners with jobs that are in no list of leases. */
  #unlisted: ReadonlySet<string> = new Set()
  /** The longest lease that was asked for here. */
  #seconds = 0

  constructor(server: Server) {
    this.#server = server
  }

  async join(owner: string, queues: readonly string[], seconds: number, host: string): Promise<boolean> {
    const { keys } = this.#server
    this.#seconds = Math.max(this.#seconds, seconds)
    const names = [...new Set(queues)]
    const main = await this.#server.ready()
    const all = [keys.ourQueues, ...names.flatMap((queue) => [keys.leases(queue), keys.hosts(queue)])]
    return (await main.run(lua.join, all, [owner, seconds, host, ...names])) === 1
  }

  /** False: the owner has no lease (any more). */
  async enter(owner: Owner, queue: string): Promise<boolean> {
    const { keys } = this.#server
    const [known] = owner.queues
    if (known === undefined) return false
    const all = [keys.ourQueues, keys.leases(known), keys.hosts(known), keys.leases(queue), keys.hosts(queue)]
    const main = await this.#server.ready()
    if ((await main.run(lua.enter, all, [owner.name, queue])) !== 1) return false
    owner.queues.add(queue)
    return true
  }

  async renew(owner: string, seconds: number): Promise<boolean> {
    const main = await this.#server.ready()
    const queues = await this.queuesOf(owner)
    if (queues.length === 0) return false
    const all = queues.map((queue) => this.#server.keys.leases(queue))
    return (await main.run(lua.renew, all, [owner, seconds])) === 1
  }

  /** Strikes an owner off if it holds nothing. */
  async leave(owner: Owner): Promise<boolean> {
    if (owner.queues.size === 0) return false
    const all = [...owner.queues].flatMap((queue) => this.#keysOf(owner.name, queue))
    const main = await this.#server.ready()
    return (await main.run(lua.leave, all, [owner.name, ''])) === 1
  }

  async list(): Promise<Lease[]> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const queues = await this.#queues()
    const answers = await main.all((pipeline) => {
      pipeline.time()
      for (const queue of queues)
        pipeline.zrange(keys.leases(queue), '0', '-1', 'WITHSCORES').hgetall(keys.hosts(queue))
    })
    const [seconds, micros] = answers[0] as [string, string]
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    const leases = new Map<string, Lease>()
    for (const i of queues.keys()) {
      const scores = (answers[1 + i * 2] ?? []) as string[]
      const hosts = (answers[2 + i * 2] ?? {}) as unknown as Record<string, string>
      for (let k = 0; k < scores.length; k += 2) {
        const owner = scores[k] as string
        const score = Number(scores[k + 1])
        const host = hosts[owner] ?? ''
        const known = leases.get(owner)
        const claimed = score < 0
        // One that is not claimed everywhere is still to be claimed; of several ends the last one counts.
        if (!known || (known.claimed && !claimed) || (known.claimed === claimed && score > known.ends)) {
          leases.set(owner, { owner, host, ends: Math.abs(score), ended: claimed || score < now, claimed })
        }
      }
    }
    if (performance.now() > this.#janitorAt) {
      this.#janitorAt = performance.now() + JANITOR_MS
      this.#unlisted = await this.unlisted(leases)
    }
    // Shown until they are claimed: nobody is claimed who was seen but once.
    for (const owner of this.#unlisted) {
      if (!leases.has(owner)) leases.set(owner, { owner, host: '', ends: 0, ended: true, claimed: false })
    }
    return [...leases.values()]
  }

  /** `known`: queues that it had, should it be listed nowhere any more. */
  async claim(owner: string, ends: number | null, known: Iterable<string> = []): Promise<boolean> {
    const { main, keys } = this.#server
    // In an outage everybody's lease ends: who has just come back lets the others come back too.
    const grace = ((this.#seconds || STANDARD_SECONDS) * 1000 * 2) / 3
    await this.#server.ready()
    if (ends !== null && main.unbrokenFor < grace) return false
    let queues = await this.queuesOf(owner)
    let enter = ''
    if (queues.length === 0 && (ends === 0 || ends === null)) {
      const found = (await this.#found()).filter((one) => one.owner === owner).map(({ queue }) => queue)
      queues = [...new Set([...known, ...found])]
      enter = 'enter'
    }
    if (queues.length === 0) return false
    const all = queues.map((queue) => keys.leases(queue))
    return (await main.run(lua.claim, all, [owner, ends ?? '', enter])) === 1
  }

  /** Jobs of claimed owners, newest first in each queue; forgets owners that were claimed long ago. */
  async stranded(limit: number): Promise<Stranded[]> {
    const { keys } = this.#server
    const main = await this.#server.ready()
    const stranded: Stranded[] = []
    let broken: unknown
    const claimed = await this.claimed()
    // Most of them hold nothing and are only remembered.
    const holding = (await main.all((pipeline) => {
      for (const { owner, queue } of claimed) {
        pipeline.exists(keys.working(queue, owner), keys.arriving(queue, owner))
      }
    })) as number[]
    for (const [i, { owner, queue, claimedAt }] of claimed.entries()) {
      if (holding[i] === 0) {
        await this.#forget(owner, queue, claimedAt)
        continue
      }
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
  async #strandedOf(owner: string, queue: string, limit: number): Promise<Stranded[]> {
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
      const held = await main.call((client) => client.hmget(working, ...some))
      for (const [i, ticket] of some.entries()) {
        const text = held[i]
        if (typeof text === 'string' && stranded.length < limit) stranded.push({ owner, queue, ticket, text })
      }
    }
    return stranded
  }

  async restore(items: readonly Restore[], now: number): Promise<SwapAnswer[]> {
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
        call.add(owner, call.key(keys.leases(queue)))
        call.add(call.key(keys.working(queue, owner)), call.key(keys.arriving(queue, owner)))
        call.add(isArrival ? 'arrival' : 'ticket', isArrival ? texts.write(ticket.slice(1)) : ticket)
        call.item(to, queue, effects)
      }
      const [letters] = (await main.run(lua.restore, call.keys, call.args)) as [string, string]
      for (const letter of letters) answers.push(ANSWERS[letter] as SwapAnswer)
    }
    return answers
  }

  async hold(duty: string, holder: string, seconds: number): Promise<boolean> {
    const main = await this.#server.ready()
    return (await main.run(lua.hold, [this.#server.keys.duty(duty)], [holder, Math.round(seconds * 1000)])) === 1
  }

  async letGo(duty: string, holder: string): Promise<void> {
    const main = await this.#server.ready()
    await main.run(lua.hold, [this.#server.keys.duty(duty)], [holder, ''])
  }

  /** Whether the owner still has its lease, as far as one of its queues tells. */
  async holds(owner: Owner): Promise<boolean> {
    const [queue] = owner.queues
    if (queue === undefined) return false
    const ends = await this.#server.main.call((client) => client.zscore(this.#server.keys.leases(queue), owner.name))
    return Number(ends ?? -1) >= 0
  }

  /** The queues in which an owner is listed, claimed or not. */
  async queuesOf(owner: string): Promise<string[]> {
    const { keys, main } = this.#server
    const queues = await this.#queues()
    const scores = await readable(main, (pipeline) => {
      for (const queue of queues) pipeline.zscore(keys.leases(queue), owner)
    })
    return queues.filter((_, i) => typeof scores[i] === 'string')
  }

  /** Every owner that is listed, claimed or not, in each of its queues. */
  async all(): Promise<{ owner: string; queue: string }[]> {
    const { keys, main } = this.#server
    const queues = await this.#queues()
    const owners = (await readable(main, (pipeline) => {
      for (const queue of queues) pipeline.zrange(keys.leases(queue), '0', '-1')
    })) as string[][]
    return queues.flatMap((queue, i) => (owners[i] ?? []).map((owner) => ({ owner, queue })))
  }

  async claimed(): Promise<{ owner: string; queue: string; claimedAt: number }[]> {
    const { keys, main } = this.#server
    const queues = await this.#queues()
    const answers = (await readable(main, (pipeline) => {
      for (const queue of queues) pipeline.zrangebyscore(keys.leases(queue), '-inf', '(0', 'WITHSCORES')
    })) as string[][]
    return queues.flatMap((queue, i) => {
      const scores = answers[i] ?? []
      const owners = []
      for (let k = 0; k < scores.length; k += 2) {
        owners.push({ owner: scores[k] as string, queue, claimedAt: -Number(scores[k + 1]) })
      }
      return owners
    })
  }

  /** Owners with jobs that are in no list of leases: a wait was served after they had left. */
  async unlisted(leases: ReadonlyMap<string, unknown>): Promise<Set<string>> {
    const owners = (await this.#found()).map(({ owner }) => owner)
    return new Set(owners.filter((owner) => !leases.has(owner)))
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
    if (found.length > 0) {
      const names = [...new Set(found.map(({ queue }) => queue))]
      await main.call((client) => client.sadd(keys.ourQueues, ...names))
    }
    return found
  }

  /** Strikes an owner off that was claimed long ago and holds nothing. */
  async #forget(owner: string, queue: string, claimedAt: number): Promise<void> {
    // A look at our own clock saves asking; the script goes by the server's.
    if (claimedAt > Date.now() - REMEMBERED_MS) return
    const { main } = this.#server
    const [seconds] = (await main.call((client) => client.time())) as unknown as [string, string]
    await main.run(lua.leave, this.#keysOf(owner, queue), [owner, REMEMBERED_MS - Number(seconds) * 1000])
  }

  /** All that is an owner's own in a queue. */
  #keysOf(owner: string, queue: string): string[] {
    const { keys } = this.#server
    return [
      keys.leases(queue),
      keys.hosts(queue),
      keys.working(queue, owner),
      keys.arriving(queue, owner),
      keys.settled(queue, owner),
    ]
  }

  async #queues(): Promise<string[]> {
    const { keys, main } = this.#server
    return (await main.call((client) => client.smembers(keys.ourQueues))).sort()
  }
}
