/** Steps of workers: each shard settles its own jobs, and all of them give jobs. */

import { isUnreachable, messageOf } from '../../job/errors.ts'
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
import { jidIn, prefixed, readPrefixed, type Shard, type Shards } from './shards.ts'
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

type PartAnswer = { shard: Shard; part: Part } & ({ answer: SettleAndFetchAnswer } | { thrown: unknown })

export class Steps {
  readonly #shards: Shards
  readonly #versions: Versions
  /** The jobs of a step that failed on another shard, by owner: the owner's next steps return them. */
  readonly #unreturned = new Map<string, FetchedJob[]>()
  /** The jobs that owners have fetched here, by ticket. */
  readonly #fetched = new RenewedMap<string, { owner: string; jid: string }>()
  #next = 0

  constructor(shards: Shards, versions: Versions) {
    this.#shards = shards
    this.#versions = versions
  }

  readonly settleAndFetch: WorkerStore['settleAndFetch'] = async (owner, request) => {
    const { queues, n } = request.fetch
    const kept = queues.length > 0 ? this.#shiftUnreturned(owner, n) : []
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
    for (const { part, answer } of answered) {
      for (const [i, { ticket }] of part.settlements.entries()) {
        const isOver = answer.settled[i] === 'ok' || answer.settled[i] === 'fenced'
        if (isOver) this.#removeFetched(ticket)
      }
    }
    // After that: a job that goes back to its queue may be fetched again in the same step.
    const fetched = [...kept, ...answered.flatMap(({ shard, answer }) => this.#fetchedAt(owner, shard, answer.fetched))]
    const mustFail = failed.find(({ part, thrown }) => part.started.length > 0 || !isUnreachable(thrown))
    if (answered.length === 0 || mustFail) {
      // The caller repeats the call, and then gets the jobs that other shards have given.
      this.#saveForNextStep(owner, fetched)
      throw (mustFail ?? failed[0])?.thrown
    }
    if (answered.some(({ answer }) => answer.fenced)) {
      // The owner may be joining, and have its lease on some shards only.
      this.#saveForNextStep(owner, fetched)
      return fencedAnswer({ now, started, settlements, fetch: { queues: [], n: 0 } })
    }
    const begun: StartAnswer[] = started.map(() => 'superseded')
    const settled: SettleAnswer[] = settlements.map(() => 'unknown')
    for (const { part, answer } of answered) {
      for (const [i, index] of part.startIndexes.entries()) begun[index] = answer.started[i] as StartAnswer
      for (const [i, index] of part.indexes.entries()) settled[index] = answer.settled[i] as SettleAnswer
    }
    await this.#releaseElsewhere(settlements)
    for (const { shard, part, answer } of answered) {
      const applied = part.settlements.filter((_, i) => answer.settled[i] === 'ok')
      const branches = applied.flatMap(({ also = [] }) => also)
      await this.#shards.withdrawElsewhere(shard, [...applied, ...branches], now)
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

  #removeFetched(ticket: string): void {
    const job = this.#fetched.get(ticket)
    this.#fetched.delete(ticket)
    if (job) this.#shards.running.delete(job.jid)
  }

  #saveForNextStep(owner: string, jobs: readonly FetchedJob[]): void {
    if (jobs.length > 0) this.#unreturned.set(owner, [...(this.#unreturned.get(owner) ?? []), ...jobs])
  }

  #shiftUnreturned(owner: string, n: number): FetchedJob[] {
    const jobs = this.#unreturned.get(owner)
    if (!jobs) return []
    const some = jobs.splice(0, n)
    if (jobs.length === 0) this.#unreturned.delete(owner)
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

  /** Returns the shards from which an owner has fetched jobs that are not settled. */
  shardsWithJobs(owner: string): Set<Shard> {
    const tickets = this.#fetched.keys().filter((ticket) => this.#fetched.get(ticket)?.owner === owner)
    return new Set(tickets.map((ticket) => this.#shards.at(readPrefixed(ticket).index)))
  }
}

function isFull(one: PartAnswer): boolean {
  return 'answer' in one && one.answer.fetched.length === one.part.n
}

function countFetched(answers: readonly PartAnswer[]): number {
  return answers.reduce((sum, one) => sum + ('answer' in one ? one.answer.fetched.length : 0), 0)
}
