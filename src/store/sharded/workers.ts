/** Workers. Each has an owner of the same name on every shard, and fetches jobs from all of them. */

import { packageFile } from '../../load/package.ts'
import type { ProcessRecord, RunningJob, Signal, WorkerStore } from '../contract.ts'
import { Joins } from './joins.ts'
import { pageThrough } from './pages.ts'
import { Renewals } from './renewer.ts'
import { isShardFailure } from './shard-failure.ts'
import { prefixed, readPrefixed, type Shards } from './shards.ts'
import type { Slots } from './slots.ts'
import { Stamps } from './stamps.ts'
import { Steps } from './steps.ts'
import type { Versions } from './versions.ts'

export class ShardedWorkerStore implements WorkerStore {
  readonly #shards: Shards
  readonly #joins: Joins
  readonly #steps: Steps
  readonly #stamps: Stamps
  readonly #renewals: Renewals
  readonly #signals = new Map<string, Signal[]>()
  readonly settleAndFetch: WorkerStore['settleAndFetch']
  readonly waitForJobs: WorkerStore['waitForJobs']

  constructor(shards: Shards, versions: Versions, slots: Slots) {
    this.#shards = shards
    this.#stamps = new Stamps(shards.all.length)
    this.#joins = new Joins(shards)
    this.#steps = new Steps(shards, versions, this.#joins, slots)
    this.#renewals = new Renewals(
      shards.all.map(
        ({ store }) =>
          (owner, seconds) =>
            store.workers.renew(owner, seconds),
      ),
      (owner, index) => this.#joins.isJoined(owner, shards.at(index)),
    )
    this.settleAndFetch = this.#steps.settleAndFetch
    this.waitForJobs = this.#steps.waitForJobs
  }

  // ------------------------------------------------------------------------------------------ leases

  readonly join: WorkerStore['join'] = (owner, options) => this.#joins.join(owner, options)
  readonly renew: WorkerStore['renew'] = (owner, seconds) => this.#renewals.renew(owner, seconds)

  readonly renewer: WorkerStore['renewer'] = () => {
    const renewers = this.#shards.all.map(({ store }) => store.workers.renewer())
    if (renewers.some((one) => one === null)) return null
    return { module: packageFile('store/sharded/renewer.js').href, options: { renewers } }
  }

  /**
   * A shard on which the owner has jobs refuses, so it is called first. On a shard that can't be reached the lease ends
   * by itself.
   * @throws STORE_UNREACHABLE if a shard can't be reached, after the leases on the others are released
   */
  readonly release: WorkerStore['release'] = async (owner) => {
    const withJobs = this.#steps.shardsWithJobs(owner)
    const others = this.#shards.all.filter((shard) => !withJobs.has(shard))
    let failure: unknown
    for (const { store } of [...withJobs, ...others]) {
      try {
        if (!(await store.workers.release(owner))) return false
      } catch (thrown) {
        if (!isShardFailure(thrown)) throw thrown
        failure = thrown
      }
    }
    this.#forget(owner)
    if (failure !== undefined) throw failure
    return true
  }

  #forget(owner: string): void {
    this.#joins.forget(owner)
    this.#steps.forget(owner)
    this.#renewals.forget(owner)
  }

  /** Returns an owner's lease on one of the shards. */
  readonly leases: WorkerStore['leases'] = async () => {
    const all = await this.#shards.reachable((store) => store.workers.leases())
    return oneOfEach(all.map(({ answer }) => answer))
  }

  readonly ownersOn: WorkerStore['ownersOn'] = async (machine) => {
    const all = await this.#shards.inTime((store) => store.workers.ownersOn(machine))
    return oneOfEach(all.map(({ answer }) => answer))
  }

  /** An owner without a renewal on one shard is returned with its lease there, whatever the others have. */
  readonly unrenewed: WorkerStore['unrenewed'] = async (since) => {
    const all = await this.#shards.inTime((store, shard) =>
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

  /**
   * An owner that has lost its lease on one shard loses those on the others. An owner without a lease on one shard may
   * be alive on the others.
   */
  readonly claim: WorkerStore['claim'] = async (owner, condition) => {
    const claimed = await this.#shards.reachable((store) => store.workers.claim(owner, condition))
    const isClaimed = claimed.some(({ answer }) => answer)
    if (isClaimed) this.#forget(owner)
    if (!isClaimed || condition === undefined || condition === 'no-lease') return isClaimed
    const others = claimed.filter(({ answer }) => !answer)
    await Promise.allSettled(others.map(({ shard }) => shard.store.workers.claim(owner)))
    return true
  }

  /**
   * Returns the jobs of all shards, shard by shard. Jobs that a shard refuses to move do not hide later ones, because
   * the caller then calls with a higher limit.
   */
  readonly orphaned: WorkerStore['orphaned'] = async (limit, characters) => {
    const all = await this.#shards.reachable((store) => store.workers.orphaned(limit, characters))
    const jobs = all.flatMap(({ shard, answer }) =>
      answer.map((job) => ({ ...job, ticket: prefixed(shard, job.ticket) })),
    )
    return jobs.slice(0, limit)
  }

  readonly rescue: WorkerStore['rescue'] = (items, now) =>
    this.#shards.spread(
      items,
      ({ ticket }) => this.#shards.at(readPrefixed(ticket).index),
      async (store, some, shard) => {
        const own = some.map((item) => ({ ...item, ticket: readPrefixed(item.ticket).text }))
        const answers = await store.workers.rescue(own, now)
        await this.#shards.withdrawElsewhere(
          shard,
          some.filter((_, i) => answers[i] === 'ok'),
          now,
        )
        return answers
      },
    )

  /**
   * Two processes that reach different shards may hold the same lock at once. So each change that its holder makes is
   * also a compare-and-swap on the shard that stores it.
   */
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
    const { identity } = process
    const beats = await this.#shards.inTime(async ({ workers }) => {
      const beat = await workers.heartbeat(process, seconds, running)
      // A late answer has taken its signal out of the shard, too: the next heartbeat returns it.
      if (beat.signal) this.#signals.set(identity, [...(this.#signals.get(identity) ?? []), beat.signal])
      return beat
    })
    const [signal = null, ...later] = this.#signals.get(identity) ?? []
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
