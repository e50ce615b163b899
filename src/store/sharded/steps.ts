/**
 * Steps of workers: each shard settles its own jobs, and jobs are fetched from all of them. A step does not wait for a
 * shard that is down or late. Until a late shard has answered, no step calls it; then a later step applies its answer.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { HighkiqError, isUnreachable, messageOf } from '../../job/errors.ts'
import { RenewedMap } from '../../job/renewed-map.ts'
import { fencedAnswer } from '../contract/fenced-answer.ts'
import type {
  Effect,
  FetchedJob,
  SettleAndFetch,
  SettleAndFetchAnswer,
  SettleAnswer,
  Settlement,
  StartAnswer,
  Started,
  WorkerStore,
} from '../contract.ts'
import { LATE_MS } from './in-time.ts'
import type { Joins } from './joins.ts'
import { LateCalls } from './late-calls.ts'
import { answeredWithin } from './reachability.ts'
import { SavedJobs } from './saved-jobs.ts'
import { isShardFailure } from './shard-failure.ts'
import { jidIn, prefixed, readPrefixed, type Shard, type Shards } from './shards.ts'
import type { Slots } from './slots.ts'
import type { Versions } from './versions.ts'

/** The part of a step that one shard does. */
interface Part {
  started: Started[]
  /** The indexes of `started` in the request. */
  startIndexes: number[]
  settlements: Settlement[]
  indexes: number[]
  n: number
}

/** `isKnown`: the answer came late, to an earlier step. */
type PartAnswer = { shard: Shard; part: Part; isKnown?: boolean } & (
  | { answer: SettleAndFetchAnswer }
  | { thrown: unknown }
)

export class Steps {
  readonly #shards: Shards
  readonly #versions: Versions
  readonly #joins: Joins
  readonly #saved: SavedJobs
  readonly #calls = new LateCalls()
  /** Answers to settlements that no step has returned yet, by ticket. The next step that sends one again returns it. */
  readonly #lateAnswers = new RenewedMap<string, { owner: string; answer: 'ok' | 'fenced' }>()
  /** The jobs that owners have fetched here, by ticket. */
  readonly #fetched = new RenewedMap<string, { owner: string; jid: string }>()
  readonly #slots: Slots
  /** Why shards that can be reached refuse their parts: the first reason, until they do a part again. */
  readonly #refusals = new Map<Shard, string>()
  #next = 0

  constructor(shards: Shards, versions: Versions, joins: Joins, slots: Slots) {
    this.#shards = shards
    this.#saved = new SavedJobs(shards, (ticket) => this.#removeFetched(ticket))
    this.#slots = slots
    this.#versions = versions
    this.#joins = joins
  }

  readonly settleAndFetch: WorkerStore['settleAndFetch'] = async (owner, request) => {
    const { queues, n } = request.fetch
    const saved = this.#saved.shift(owner, queues, n)
    const wanted = queues.length > 0 ? n - saved.length : 0
    const known = this.#knownParts(request)
    const parts = this.#partsOf(owner, request, wanted)
    let answers = [...known, ...(await this.#run(owner, request, parts))]
    const missing = wanted - countFetched(answers)
    if (missing > 0)
      answers = [...answers, ...(await this.#run(owner, request, this.#moreFrom(owner, answers, missing)))]
    return this.#answerOf(owner, request, saved, answers)
  }

  /** Returns the parts of a step to which late calls have had an answer. */
  #knownParts({ settlements }: SettleAndFetch): PartAnswer[] {
    if (this.#lateAnswers.size === 0) return []
    const parts = new Map<Shard, Part>()
    const settled = new Map<Part, SettleAnswer[]>()
    for (const [index, one] of settlements.entries()) {
      const known = this.#lateAnswers.get(one.ticket)
      if (!known) continue
      const part = this.#partAt(parts, readPrefixed(one.ticket).index)
      part.settlements.push(one)
      part.indexes.push(index)
      settled.set(part, [...(settled.get(part) ?? []), known.answer])
    }
    return [...parts].map(([shard, part]) => {
      const answer = { fenced: false, started: [], settled: settled.get(part) ?? [], fetched: [], cancellations: 0 }
      return { shard, part, answer, isKnown: true }
    })
  }

  /**
   * Each shard fetches as many jobs as the step settles there, so that all stay busy. One shard, each time the next,
   * fetches the rest.
   */
  #partsOf(owner: string, { started, settlements }: SettleAndFetch, wanted: number): Map<Shard, Part> {
    const parts = new Map<Shard, Part>()
    const usable = this.#usable(owner)
    for (const [index, one] of started.entries()) {
      for (const [shard, effects] of this.#effectsByShard(one)) {
        const part = this.#partAt(parts, shard.index)
        part.started.push({ ...one, effects })
        part.startIndexes.push(index)
      }
    }
    for (const [index, one] of settlements.entries()) {
      if (this.#lateAnswers.has(one.ticket)) continue
      const part = this.#partAt(parts, readPrefixed(one.ticket).index)
      part.settlements.push(one)
      part.indexes.push(index)
    }
    let rest = wanted
    for (const [shard, part] of parts) {
      part.n = usable.includes(shard) ? Math.min(part.settlements.length, rest) : 0
      rest -= part.n
    }
    const next = usable[this.#next++ % usable.length] ?? this.#shards.first
    if (rest > 0) this.#partAt(parts, next.index).n += rest
    // A step without anything still tells whether the owner has its lease.
    if (parts.size === 0) this.#partAt(parts, next.index)
    return parts
  }

  /** Returns the shards from which an owner can fetch now. */
  #usable(owner: string): Shard[] {
    return this.#shards.all.filter((shard) => shard.reachability.isReachable && this.#isFree(owner, shard))
  }

  /** Whether an owner has a lease on a shard, and no late call there. */
  #isFree(owner: string, shard: Shard): boolean {
    return !this.#calls.has(owner, shard) && this.#joins.ensureJoined(owner, shard)
  }

  /** Events of jobs that have no other effects come together, without a ticket. Each goes to the shard of its job. */
  #effectsByShard({ ticket, effects }: Started): Map<Shard, Effect[]> {
    if (ticket !== '') return new Map([[this.#shards.at(readPrefixed(ticket).index), effects]])
    return this.#shards.group(effects, (effect) =>
      'jid' in effect ? this.#shards.ofJob(effect.jid) : this.#shards.first,
    )
  }

  /** Returns what to fetch from the shards that may have more jobs. */
  #moreFrom(owner: string, answers: readonly PartAnswer[], missing: number): Map<Shard, Part> {
    const empty = new Set(answers.flatMap((one) => (isFull(one) ? [] : [one.shard])))
    const others = this.#usable(owner).filter((shard) => !empty.has(shard))
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
    return Promise.all([...parts].map(([shard, part]) => this.#runPart(owner, request, shard, part)))
  }

  async #runPart(owner: string, { now, fetch }: SettleAndFetch, shard: Shard, part: Part): Promise<PartAnswer> {
    if (!this.#isFree(owner, shard)) return { shard, part, thrown: lateError(shard) }
    const call = shard.store.workers.settleAndFetch(owner, {
      now,
      started: part.started.map((one) => ({ ...one, ticket: readPrefixed(one.ticket).text })),
      settlements: part.settlements.map((one) => this.#ownSettlement(one, shard)),
      fetch: { queues: part.n > 0 ? fetch.queues : [], n: part.n },
    })
    const outcome = await this.#calls.run(owner, shard, call, (outcome) => {
      if (outcome.status === 'fulfilled') this.#applyLate(owner, shard, part, outcome.value)
    })
    if (!outcome) return { shard, part, thrown: lateError(shard) }
    if (outcome.status === 'rejected') return { shard, part, thrown: outcome.reason }
    return { shard, part, answer: outcome.value }
  }

  /** Remembers the answer of a call that a step has not waited for. */
  #applyLate(owner: string, shard: Shard, part: Part, answer: SettleAndFetchAnswer): void {
    if (answer.fenced) return
    this.#remember(owner, part, answer)
    // The jobs were fetched after these cancellations.
    this.#versions.numberWith(new Map([[shard.index, answer.cancellations]]))
    this.#saved.add(owner, this.#fetchedAt(owner, shard, answer.fetched))
  }

  /** Remembers what a shard has settled, because the caller sends it again. */
  #remember(owner: string, part: Part, { settled }: SettleAndFetchAnswer): void {
    for (const [i, { ticket }] of part.settlements.entries()) {
      const answer = settled[i]
      if (answer === 'ok' || answer === 'fenced') this.#lateAnswers.set(ticket, { owner, answer })
    }
  }

  async #answerOf(
    owner: string,
    { now, started, settlements }: SettleAndFetch,
    saved: FetchedJob[],
    all: readonly PartAnswer[],
  ): Promise<SettleAndFetchAnswer> {
    const failed = all.flatMap((one) => ('thrown' in one ? [one] : []))
    const answered = all.flatMap((one) => ('answer' in one ? [one] : []))
    for (const { part, answer } of answered) {
      for (const [i, { ticket }] of part.settlements.entries()) {
        const isOver = answer.settled[i] === 'ok' || answer.settled[i] === 'fenced'
        if (!isOver) continue
        this.#removeFetched(ticket)
        this.#lateAnswers.delete(ticket)
      }
    }
    // After that: a job that goes back to its queue may be fetched again in the same step.
    const fetched = [
      ...saved,
      ...answered.flatMap(({ shard, answer }) => this.#fetchedAt(owner, shard, answer.fetched)),
    ]
    for (const { shard } of answered) this.#refusals.delete(shard)
    for (const { shard, thrown } of failed) {
      if (!isUnreachable(thrown) && !this.#refusals.has(shard)) this.#refusals.set(shard, messageOf(thrown))
    }
    const mustFail = failed.find(({ thrown }) => !isShardFailure(thrown))
    const hasFailed = (shard: Shard) => failed.some((one) => one.shard === shard)
    if (mustFail || (answered.length === 0 && this.#usable(owner).every(hasFailed))) {
      // The caller repeats the call, and then gets the jobs that other shards have given.
      this.#saved.add(owner, fetched)
      for (const { part, answer } of answered) this.#remember(owner, part, answer)
      throw (mustFail ?? failed[0])?.thrown
    }
    if (answered.some(({ answer }) => answer.fenced)) {
      // The owner may be joining, and have its lease on some shards only.
      this.#saved.add(owner, fetched)
      return fencedAnswer({ now, started, settlements, fetch: { queues: [], n: 0 } })
    }
    const begun: StartAnswer[] = started.map(() => 'unreachable')
    const settled: SettleAnswer[] = settlements.map(() => 'unreachable')
    for (const { part, answer } of answered) {
      for (const [i, index] of part.startIndexes.entries()) begun[index] = answer.started[i] as StartAnswer
      for (const [i, index] of part.indexes.entries()) settled[index] = answer.settled[i] as SettleAnswer
    }
    // Without an answer, too: the attempt is over, and its slots are on other shards.
    const over = settlements.filter((_, i) => settled[i] === 'ok' || settled[i] === 'unreachable')
    await this.#releaseElsewhere(over)
    for (const { shard, part, answer } of answered) {
      const applied = part.settlements.filter((_, i) => answer.settled[i] === 'ok')
      const branches = applied.flatMap(({ also = [] }) => also)
      await this.#shards.withdrawElsewhere(shard, [...applied, ...branches], now)
    }
    const versions = new Map<number, number>()
    for (const { shard, answer, isKnown } of answered) if (!isKnown) versions.set(shard.index, answer.cancellations)
    // While a shard can't be reached or refuses its parts, each answer has the same problem, so that the worker reports it once.
    const [problem] = [
      ...this.#shards.all.flatMap(({ reachability }) => reachability.failure?.message ?? []),
      ...this.#refusals.values(),
      ...answered.flatMap(({ answer }) => answer.problem ?? []),
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

  /** Releases the slots that attempts have on other shards than their jobs. */
  async #releaseElsewhere(settlements: readonly Settlement[]): Promise<void> {
    const slots = settlements.flatMap(({ ticket, effects = [] }) =>
      effects.flatMap((effect) =>
        effect.kind === 'release-slot' && this.#shards.of(effect.limit).index !== readPrefixed(ticket).index
          ? [effect]
          : [],
      ),
    )
    if (slots.length === 0) return
    const released = Promise.allSettled(slots.map((slot) => this.#slots.release(slot)))
    // One slot of each limit is enough for a shard. It comes after the releases, however late they are.
    const byShard = new Map(slots.map((slot) => [`${readPrefixed(slot.ticket).index} ${slot.limit}`, slot]))
    void released.then(() => {
      for (const slot of byShard.values()) this.#slots.notify(slot, this.#shards.at(readPrefixed(slot.ticket).index))
    })
    await answeredWithin(LATE_MS, released)
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

  #removeFetched(ticket: string): void {
    const job = this.#fetched.get(ticket)
    this.#fetched.delete(ticket)
    if (job) this.#shards.running.delete(job.jid)
  }

  /** All shards fetch while they wait. Jobs beyond `n`, and those that come late, are returned by the next step. */
  readonly waitForJobs: WorkerStore['waitForJobs'] = async (owner, queues, n, ms, signal) => {
    if (this.#saved.has(owner, queues)) return []
    const found: FetchedJob[] = []
    let isOver = false
    const waiting = this.#saved.during(owner, (saved) =>
      this.#shards.race(
        AbortSignal.any([signal, saved]),
        ms,
        () => true,
        async ({ workers }, wait, shard) => {
          if (!this.#joins.ensureJoined(owner, shard)) {
            await sleep(Math.min(LATE_MS, wait.ms), undefined, { signal: wait.signal }).catch(() => {})
            return
          }
          const own = await workers.waitForJobs(owner, queues, n, wait.ms, wait.signal)
          const jobs = this.#fetchedAt(owner, shard, own)
          if (isOver) this.#saved.add(owner, jobs)
          else found.push(...jobs)
        },
      ),
    )
    try {
      await waiting
    } catch (thrown) {
      this.#saved.add(owner, found.splice(0))
      throw thrown
    } finally {
      isOver = true
    }
    this.#saved.add(owner, found.splice(n))
    return found
  }

  /** Forgets an owner that has lost its lease, or has released it. */
  forget(owner: string): void {
    this.#saved.delete(owner)
    this.#calls.forget(owner, this.#shards.all)
    for (const ticket of this.#lateAnswers.keys()) {
      if (this.#lateAnswers.get(ticket)?.owner === owner) this.#lateAnswers.delete(ticket)
    }
    for (const ticket of this.#fetched.keys()) {
      if (this.#fetched.get(ticket)?.owner === owner) this.#removeFetched(ticket)
    }
  }

  /** Returns the shards from which an owner has fetched jobs that are not settled. */
  shardsWithJobs(owner: string): Set<Shard> {
    const tickets = this.#fetched.keys().filter((ticket) => this.#fetched.get(ticket)?.owner === owner)
    return new Set(tickets.map((ticket) => this.#shards.at(readPrefixed(ticket).index)))
  }
}

function lateError({ store }: Shard): HighkiqError {
  return new HighkiqError('STORE_TIMEOUT', `${store.url} has not answered yet`)
}

function isFull(one: PartAnswer): boolean {
  return 'answer' in one && one.answer.fetched.length === one.part.n
}

function countFetched(answers: readonly PartAnswer[]): number {
  return answers.reduce((sum, one) => sum + ('answer' in one ? one.answer.fetched.length : 0), 0)
}
