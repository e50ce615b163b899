/** Workers. One has an owner of the same name on each shard, and its jobs come from all of them. */

import { isUnreachable, messageOf } from '../../job/errors.ts'
import { RenewedMap } from '../../job/renewed-map.ts'
import { packageFile } from '../../load/package.ts'
import { fencedAnswer } from '../contract/fenced-answer.ts'
import type {
  Effect,
  FetchedJob,
  ProcessRecord,
  RunningJob,
  SettleAndFetch,
  SettleAndFetchAnswer,
  SettleAnswer,
  Settlement,
  Signal,
  StartAnswer,
  Started,
  WorkerStore,
} from '../contract.ts'
import { renewAll } from './renewer.ts'
import { jidIn, pageThrough, prefixed, readPrefixed, type Shard, type Shards } from './shards.ts'
import { Stamps } from './stamps.ts'
import type { Versions } from './versions.ts'

/** What one shard does in a step. */
interface Part {
  started: Started[]
  /** The indexes of `started` in the request. */
  startIndexes: number[]
  settlements: Settlement[]
  indexes: number[]
  n: number
}

type PartAnswer = { shard: Shard; part: Part } & ({ answer: SettleAndFetchAnswer } | { thrown: unknown })

export class ShardedWorkerStore implements WorkerStore {
  readonly #shards: Shards
  readonly #versions: Versions
  readonly #stamps: Stamps
  /** The jobs of a step that failed on another shard: the next steps of their owners return them. */
  readonly #kept = new Map<string, FetchedJob[]>()
  readonly #signals = new Map<string, Signal[]>()
  /** The jobs that owners have fetched here, by ticket. */
  readonly #fetched = new RenewedMap<string, { owner: string; jid: string }>()
  #next = 0

  constructor(shards: Shards, versions: Versions) {
    this.#shards = shards
    this.#versions = versions
    this.#stamps = new Stamps(shards.all.length)
  }

  // ------------------------------------------------------------------------------------------ steps

  readonly settleAndFetch: WorkerStore['settleAndFetch'] = async (owner, request) => {
    const { queues, n } = request.fetch
    const kept = queues.length > 0 ? this.#shiftKept(owner, n) : []
    const wanted = queues.length > 0 ? n - kept.length : 0
    const parts = this.#partsOf(request, wanted)
    let answers = await this.#run(owner, request, parts)
    const missing = wanted - countFetched(answers)
    if (missing > 0 && this.#shards.all.length > 1) {
      answers = [...answers, ...(await this.#run(owner, request, this.#moreFrom(answers, missing)))]
    }
    return this.#answerOf(owner, request, kept, answers)
  }

  /**
   * Each shard fetches as many jobs as the step settles there, so that all stay busy. One shard, each time the next,
   * fetches the rest.
   */
  #partsOf({ started, settlements }: SettleAndFetch, wanted: number): Map<Shard, Part> {
    const parts = new Map<Shard, Part>()
    const partOf = (ticket: string) => this.#partAt(parts, readPrefixed(ticket).index)
    for (const [index, one] of started.entries()) {
      for (const [shard, effects] of this.#effectsByShard(one)) {
        const part = this.#partAt(parts, shard.index)
        part.started.push({ ...one, effects })
        part.startIndexes.push(index)
      }
    }
    for (const [index, one] of settlements.entries()) {
      const part = partOf(one.ticket)
      part.settlements.push(one)
      part.indexes.push(index)
    }
    let rest = wanted
    for (const part of parts.values()) {
      part.n = Math.min(part.settlements.length, rest)
      rest -= part.n
    }
    if (rest > 0) this.#partAt(parts, this.#next++ % this.#shards.all.length).n += rest
    // A step without anything still tells whether the owner has its lease.
    if (parts.size === 0) this.#partAt(parts, 0)
    return parts
  }

  /** Events of jobs that have no other effects come together, without a ticket. Each goes to the shard of its job. */
  #effectsByShard({ ticket, effects }: Started): Map<Shard, Effect[]> {
    if (ticket !== '') return new Map([[this.#shards.at(readPrefixed(ticket).index), effects]])
    return this.#shards.group(effects, (effect) =>
      'jid' in effect ? this.#shards.ofJob(effect.jid) : this.#shards.first,
    )
  }

  /** Returns what to fetch from the shards that may have more jobs. */
  #moreFrom(answers: readonly PartAnswer[], missing: number): Map<Shard, Part> {
    const empty = new Set(answers.flatMap((one) => (isFull(one) ? [] : [one.shard])))
    const others = this.#shards.all.filter((shard) => !empty.has(shard))
    const parts = new Map<Shard, Part>()
    for (const [i, { index }] of others.entries()) {
      const n = Math.floor((missing + others.length - 1 - i) / others.length)
      if (n > 0) this.#partAt(parts, index).n = n
    }
    return parts
  }

  #partAt(parts: Map<Shard, Part>, index: number): Part {
    const shard = this.#shards.at(index)
    const part = parts.get(shard) ?? { started: [], startIndexes: [], settlements: [], indexes: [], n: 0 }
    parts.set(shard, part)
    return part
  }

  #run(owner: string, request: SettleAndFetch, parts: Map<Shard, Part>): Promise<PartAnswer[]> {
    const { now, fetch } = request
    return Promise.all(
      [...parts].map(async ([shard, part]): Promise<PartAnswer> => {
        try {
          const answer = await shard.store.workers.settleAndFetch(owner, {
            now,
            started: part.started.map((one) => ({ ...one, ticket: readPrefixed(one.ticket).text })),
            settlements: part.settlements.map((one) => this.#ownSettlement(one, shard)),
            fetch: { queues: part.n > 0 ? fetch.queues : [], n: part.n },
          })
          return { shard, part, answer }
        } catch (thrown) {
          return { shard, part, thrown }
        }
      }),
    )
  }

  async #answerOf(
    owner: string,
    { now, started, settlements }: SettleAndFetch,
    kept: FetchedJob[],
    all: readonly PartAnswer[],
  ): Promise<SettleAndFetchAnswer> {
    const failed = all.flatMap((one) => ('thrown' in one ? [one] : []))
    const answered = all.flatMap((one) => ('answer' in one ? [one] : []))
    const fetched = [...kept, ...answered.flatMap(({ shard, answer }) => this.#fetchedAt(owner, shard, answer.fetched))]
    const mustFail = failed.find(({ part, thrown }) => part.started.length > 0 || !isUnreachable(thrown))
    if (answered.length === 0 || mustFail) {
      // The caller repeats the call, and then gets the jobs that other shards have given.
      this.#keep(owner, fetched)
      throw (mustFail ?? failed[0])?.thrown
    }
    if (answered.some(({ answer }) => answer.fenced)) {
      // The owner may be joining, and have its lease on some shards only.
      this.#keep(owner, fetched)
      return fencedAnswer({ now, started, settlements, fetch: { queues: [], n: 0 } })
    }
    const begun: StartAnswer[] = started.map(() => 'superseded')
    const settled: SettleAnswer[] = settlements.map(() => 'unknown')
    for (const { part, answer } of answered) {
      for (const [i, index] of part.startIndexes.entries()) begun[index] = answer.started[i] as StartAnswer
      for (const [i, index] of part.indexes.entries()) settled[index] = answer.settled[i] as SettleAnswer
    }
    for (const { ticket } of settlements) this.#forget(ticket)
    await this.#releaseElsewhere(settlements)
    for (const { shard, part, answer } of answered) {
      const applied = part.settlements.filter((_, i) => answer.settled[i] === 'ok')
      const branches = applied.flatMap(({ also = [] }) => also)
      await this.#shards.clearElsewhere(shard, [...applied, ...branches], now)
    }
    const versions = new Map(answered.map(({ shard, answer }) => [shard.index, answer.cancellations]))
    const [problem] = [
      ...answered.flatMap(({ answer }) => answer.problem ?? []),
      ...failed.map(({ thrown }) => messageOf(thrown)),
    ]
    return {
      fenced: false,
      started: begun,
      settled,
      fetched,
      cancellations: this.#versions.numberWith(versions),
      ...(problem !== undefined && { problem }),
    }
  }

  /** Returns a settlement as its shard knows it, without the slots that it has on other shards. */
  #ownSettlement(one: Settlement, shard: Shard): Settlement {
    const { text: ticket } = readPrefixed(one.ticket)
    if (!one.effects) return { ...one, ticket }
    const effects = one.effects.filter(
      (effect) => effect.kind !== 'release-slot' || this.#shards.of(effect.limit) === shard,
    )
    return { ...one, ticket, effects }
  }

  /** Releases the slots that attempts have on other shards than their jobs. If that fails, the end of the lease releases them. */
  async #releaseElsewhere(settlements: readonly Settlement[]): Promise<void> {
    const slots = settlements.flatMap(({ ticket, effects = [] }) =>
      effects.flatMap((effect) =>
        effect.kind === 'release-slot' && this.#shards.of(effect.limit).index !== readPrefixed(ticket).index
          ? [effect]
          : [],
      ),
    )
    await Promise.allSettled(slots.map((slot) => this.#shards.of(slot.limit).store.limits.release(slot)))
  }

  #fetchedAt(owner: string, shard: Shard, jobs: readonly FetchedJob[]): FetchedJob[] {
    return jobs.map((job) => {
      const ticket = prefixed(shard, job.ticket)
      const jid = jidIn(job.text)
      this.#fetched.set(ticket, { owner, jid })
      this.#shards.running.set(jid, shard)
      return { ...job, ticket }
    })
  }

  #forget(ticket: string): void {
    const job = this.#fetched.get(ticket)
    this.#fetched.delete(ticket)
    if (job) this.#shards.running.delete(job.jid)
  }

  #keep(owner: string, jobs: readonly FetchedJob[]): void {
    if (jobs.length > 0) this.#kept.set(owner, [...(this.#kept.get(owner) ?? []), ...jobs])
  }

  #shiftKept(owner: string, n: number): FetchedJob[] {
    const jobs = this.#kept.get(owner)
    if (!jobs) return []
    const some = jobs.splice(0, n)
    if (jobs.length === 0) this.#kept.delete(owner)
    return some
  }

  /** One shard fetches while it waits; the others only wait, so that no more than `n` jobs come. */
  readonly waitForJobs: WorkerStore['waitForJobs'] = async (owner, queues, n, ms, signal) => {
    const fetching = this.#next++ % this.#shards.all.length
    const found: FetchedJob[] = []
    await this.#shards.race(
      signal,
      () => true,
      async ({ workers }, any, shard) => {
        const most = shard.index === fetching ? n : 0
        found.push(...this.#fetchedAt(owner, shard, await workers.waitForJobs(owner, queues, most, ms, any)))
      },
    )
    return found
  }

  // ------------------------------------------------------------------------------------------ leases

  readonly join: WorkerStore['join'] = async (owner, options) => {
    const joined = await this.#shards.reachable((store) => store.workers.join(owner, options))
    return joined.every(({ answer }) => answer)
  }

  readonly renew: WorkerStore['renew'] = (owner, seconds) =>
    renewAll(
      this.#shards.all.map(
        ({ store }) =>
          () =>
            store.workers.renew(owner, seconds),
      ),
    )

  readonly renewer: WorkerStore['renewer'] = () => {
    const renewers = this.#shards.all.map(({ store }) => store.workers.renewer())
    if (renewers.some((one) => one === null)) return null
    return { module: packageFile('store/sharded/renewer.js').href, options: { renewers } }
  }

  /** A shard on which the owner has jobs refuses, so it is asked first. */
  readonly release: WorkerStore['release'] = async (owner) => {
    const tickets = this.#fetched.keys().filter((ticket) => this.#fetched.get(ticket)?.owner === owner)
    const withJobs = new Set(tickets.map((ticket) => this.#shards.at(readPrefixed(ticket).index)))
    const others = this.#shards.all.filter((shard) => !withJobs.has(shard))
    for (const { store } of [...withJobs, ...others]) if (!(await store.workers.release(owner))) return false
    return true
  }

  /** Returns an owner's lease on one of the shards. */
  readonly leases: WorkerStore['leases'] = async () =>
    oneOfEach(await this.#shards.each((store) => store.workers.leases()))

  readonly ownersOn: WorkerStore['ownersOn'] = async (machine) => {
    const all = await this.#shards.reachable((store) => store.workers.ownersOn(machine))
    return oneOfEach(all.map(({ answer }) => answer))
  }

  /** An owner without a renewal on one shard is returned with its lease there, whatever the others have. */
  readonly unrenewed: WorkerStore['unrenewed'] = async (since) => {
    const all = await this.#shards.reachable((store, shard) =>
      store.workers.unrenewed(since === null ? null : this.#stamps.of(since, shard)),
    )
    const stamp = this.#stamps.observe(new Map(all.map(({ shard, answer }) => [shard.index, answer.stamp])))
    const leases = all.map(({ shard, answer }) =>
      answer.leases.map((lease) => ({ ...lease, stamp: this.#stamps.numberOf(shard, lease.stamp) })),
    )
    return { stamp, leases: oneOfEach(leases) }
  }

  readonly tidy: WorkerStore['tidy'] = async () => {
    const all = await this.#shards.reachable((store) => store.workers.tidy())
    return [...new Set(all.flatMap(({ answer }) => answer))]
  }

  /** An owner that has lost its lease on one shard loses those on the others. Without a lease on one it may be alive on the others. */
  readonly claim: WorkerStore['claim'] = async (owner, condition) => {
    const claimed = await this.#shards.reachable((store) => store.workers.claim(owner, condition))
    const isClaimed = claimed.some(({ answer }) => answer)
    if (!isClaimed || condition === undefined || condition === 'no-lease') return isClaimed
    const others = claimed.filter(({ answer }) => !answer)
    await Promise.allSettled(others.map(({ shard }) => shard.store.workers.claim(owner)))
    return true
  }

  /** Returns those of the first shard that has any. */
  readonly orphaned: WorkerStore['orphaned'] = async (...page) => {
    const all = await this.#shards.reachable((store) => store.workers.orphaned(...page))
    const found = all.find(({ answer }) => answer.length > 0)
    return found?.answer.map((job) => ({ ...job, ticket: prefixed(found.shard, job.ticket) })) ?? []
  }

  readonly rescue: WorkerStore['rescue'] = (items, now) =>
    this.#shards.spread(
      items,
      ({ ticket }) => this.#shards.at(readPrefixed(ticket).index),
      async (store, some, shard) => {
        const own = some.map((item) => ({ ...item, ticket: readPrefixed(item.ticket).text }))
        const answers = await store.workers.rescue(own, now)
        await this.#shards.clearElsewhere(
          shard,
          some.filter((_, i) => answers[i] === 'ok'),
          now,
        )
        return answers
      },
    )

  readonly acquireLock: WorkerStore['acquireLock'] = (name, holder, seconds) =>
    this.#shards.firstReachable((store) => store.workers.acquireLock(name, holder, seconds))

  readonly releaseLock: WorkerStore['releaseLock'] = async (name, holder) => {
    await this.#shards.reachable((store) => store.workers.releaseLock(name, holder))
  }

  readonly fetched: WorkerStore['fetched'] = ({ after, limit }) =>
    pageThrough(this.#shards, after, limit, (store, page) => store.workers.fetched(page))

  // ------------------------------------------------------------------------------------------ processes

  readonly advice: WorkerStore['advice'] = async () => {
    const all = await this.#shards.reachable((store) => store.workers.advice())
    return [...new Set(all.flatMap(({ answer }) => answer))]
  }

  /** All shards list each process. */
  readonly heartbeat: WorkerStore['heartbeat'] = async (process, seconds, running) => {
    const beats = await this.#shards.reachable((store) => store.workers.heartbeat(process, seconds, running))
    const { identity } = process
    const signals = [...(this.#signals.get(identity) ?? []), ...beats.flatMap(({ answer }) => answer.signal ?? [])]
    const [signal = null, ...later] = signals
    if (later.length > 0) this.#signals.set(identity, later)
    else this.#signals.delete(identity)
    const times = beats.flatMap(({ answer }) => answer.rtt ?? [])
    return {
      signal,
      known: beats.every(({ answer }) => answer.known),
      rtt: times.length > 0 ? Math.max(...times) : null,
    }
  }

  readonly showRunning: WorkerStore['showRunning'] = async (identity, seconds, running, ended) => {
    await this.#shards.reachable((store) => store.workers.showRunning(identity, seconds, running, ended))
  }

  readonly processes: WorkerStore['processes'] = async () => {
    const all = await this.#shards.reachable((store) => store.workers.processes())
    const newest = new Map<string, ProcessRecord>()
    for (const one of all.flatMap(({ answer }) => answer)) {
      if (one.beat >= (newest.get(one.identity)?.beat ?? 0)) newest.set(one.identity, one)
    }
    return [...newest.values()]
  }

  readonly removeProcess: WorkerStore['removeProcess'] = async (identity) => {
    await this.#shards.reachable((store) => store.workers.removeProcess(identity))
  }

  /** One shard has the signal, so that the process gets it once. */
  readonly signal: WorkerStore['signal'] = (identity, signal) =>
    this.#shards.firstReachable((store) => store.workers.signal(identity, signal))

  readonly running: WorkerStore['running'] = async () => {
    const all = await this.#shards.reachable((store) => store.workers.running())
    const bySlot = new Map<string, RunningJob & { identity: string }>()
    for (const job of all.flatMap(({ answer }) => answer)) bySlot.set(`${job.identity} ${job.slot}`, job)
    return [...bySlot.values()]
  }

  readonly leader: WorkerStore['leader'] = () => this.#shards.find((store) => store.workers.leader())
}

/** Returns the first item of each owner. */
function oneOfEach<Item extends { owner: string }>(lists: readonly (readonly Item[])[]): Item[] {
  const items = new Map<string, Item>()
  for (const item of lists.flat()) if (!items.has(item.owner)) items.set(item.owner, item)
  return [...items.values()]
}

function isFull(one: PartAnswer): boolean {
  return 'answer' in one && one.answer.fetched.length === one.part.n
}

function countFetched(answers: readonly PartAnswer[]): number {
  return answers.reduce((sum, one) => sum + ('answer' in one ? one.answer.fetched.length : 0), 0)
}
