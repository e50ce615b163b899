/** The leases of owners. */

import { HighkiqError } from '../../../job/errors.ts'
import { packageFile } from '../../../load/package.ts'
import { type ClaimCondition, type Lease, machineOf, type Renewer, type WorkerStore } from '../../contract.ts'
import type { PriorityQueues } from '../jobs/priority-queues.ts'
import { lua } from '../lua.generated.ts'
import { type Server, StorePart } from '../server/server.ts'
import type { Owner } from './owner.ts'

/** How long a claimed owner stays listed: the server may still serve one of its waits. */
const REMEMBERED_MS = 3_600_000
/** How many texts are read with one command: each may be large. */
export const TEXTS_AT_ONCE = 10
const DEFAULT_SECONDS = 15

/** The prefix of the fields of an owner's hash that name its queues. */
const QUEUE_FIELD = 'q '

export class Leases extends StorePart implements Partial<WorkerStore> {
  /** The longest lease, in seconds, of the owners that joined in this process. */
  #seconds = 0
  readonly #priorities: PriorityQueues

  constructor(server: Server, priorities: PriorityQueues) {
    super(server)
    this.#priorities = priorities
  }

  /** Returns false for a name that is known already, claimed or not. */
  async create(owner: string, queues: readonly string[], seconds: number, host: string): Promise<boolean> {
    this.#seconds = Math.max(this.#seconds, seconds)
    const all = [this.keys.leases, this.keys.renewals, this.keys.owner(owner), this.keys.machine(machineOf(host))]
    return this.server.succeeds(lua.join, all, [owner, seconds, host, ...new Set(queues)])
  }

  /** Lets an owner hold jobs of one more queue. Returns false when it has no lease. */
  async allowQueue(owner: Owner, queue: string): Promise<boolean> {
    const all = [this.keys.leases, this.keys.owner(owner.name)]
    const isAdded = await this.server.succeeds(lua.addQueue, all, [owner.name, queue])
    if (isAdded) owner.queues.add(queue)
    return isAdded
  }

  async renew(owner: string, seconds: number): Promise<boolean> {
    const { keys } = this
    return this.server.succeeds(lua.renew, [keys.leases, keys.renewals, keys.owner(owner)], [owner, seconds])
  }

  /** Removes an owner that holds no job. Returns false, and changes nothing, when it holds one. */
  async remove({ name, queues }: Owner): Promise<boolean> {
    const { host, queues: others } = await this.recordOf(name)
    return this.#remove(name, host, [...new Set([...queues, ...others])], '')
  }

  renewer(): Renewer {
    return { module: packageFile('store/redis/workers/renewer.js').href, options: { ...this.server.options } }
  }

  async leases(): Promise<Lease[]> {
    return this.#leasesOf(await this.server.call((client) => client.zrange(this.keys.leases, '0', '-1', 'WITHSCORES')))
  }

  async ownersOn(machine: string): Promise<{ owner: string; host: string }[]> {
    const hosts = await this.server.call((client) => client.hgetall(this.keys.machine(machine)))
    return Object.entries(hosts).map(([owner, host]) => ({ owner, host }))
  }

  /** Returns the newest stamp; with `since`, also the unclaimed owners that have not renewed since that stamp. */
  async unrenewed(since: number | null): Promise<{ stamp: number; leases: Lease[] }> {
    const [stamp, scores] = (await this.server.all((pipeline) => {
      pipeline.get(this.keys.renewals)
      if (since !== null) pipeline.zrangebyscore(this.keys.leases, '0', since, 'WITHSCORES')
    })) as [string | null, string[] | undefined]
    return { stamp: Number(stamp ?? 0), leases: scores ? await this.#leasesOf(scores) : [] }
  }

  /** See WorkerStore.claim. `known`: queues that the owner had, in case no key lists them any more. */
  async claimLease(owner: string, condition?: ClaimCondition, known: Iterable<string> = []): Promise<boolean> {
    // In an outage every lease ends. A process that has just reconnected gives the others time to reconnect as well.
    const grace = ((this.#seconds || DEFAULT_SECONDS) * 1000 * 2) / 3
    const main = await this.server.ready()
    const isTooEarly = () => condition !== undefined && main.unbrokenFor < grace
    if (isTooEarly()) return false
    const { host, queues } = await this.recordOf(owner)
    let unlisted: string[] = []
    // Only an owner that is dead or has no lease may have no hash: then its keys name its queues.
    if (queues.length === 0 && typeof condition !== 'object') {
      const found = (await this.#findOwners()).filter((one) => one.owner === owner).map(({ queue }) => queue)
      unlisted = [...new Set([...known, ...found])]
    }
    const all = [this.keys.leases, this.keys.owner(owner), this.keys.machine(machineOf(host))]
    // The connection may have broken meanwhile. `main` does not wait for a new one.
    const expected = condition === 'no-lease' ? 0 : (condition?.ends ?? '')
    return !isTooEarly() && (await main.run(lua.claim, all, [owner, expected, ...unlisted])) === 1
  }

  /** Returns whether the owner still has its lease. */
  async hasLease(owner: Owner): Promise<boolean> {
    const stamp = await this.server.main.call((client) => client.zscore(this.keys.leases, owner.name))
    return Number(stamp ?? -1) >= 0
  }

  /** Reads the hash of an owner. */
  async recordOf(owner: string): Promise<{ host: string; queues: string[] }> {
    const fields = await this.server.call((client) => client.hgetall(this.keys.owner(owner)))
    return { host: fields.host ?? '', queues: queuesIn(Object.keys(fields)) }
  }

  /** Returns every listed owner, claimed or not, with each of its queues. */
  async ownedQueues(): Promise<{ owner: string; queue: string }[]> {
    const owners = await this.server.call((client) => client.zrange(this.keys.leases, '0', '-1'))
    const keys = owners.map((owner) => this.keys.owner(owner))
    const hashes = await this.server.hashes(keys, 'error')
    return owners.flatMap((owner, i) => queuesIn(Object.keys(hashes[i] ?? {})).map((queue) => ({ owner, queue })))
  }

  async claimedOwners(): Promise<string[]> {
    return this.server.call((client) => client.zrangebyscore(this.keys.leases, '-inf', '(0'))
  }

  /**
   * Returns owners that hold jobs without a lease: Redis served their wait after they had left. Removes the names of
   * queues without tasks, and those of priorities without jobs.
   */
  async tidy(): Promise<string[]> {
    await this.#priorities.tidy()
    for (const queue of await this.server.call((client) => client.smembers(this.keys.taskQueues))) {
      const { keys } = this
      const all = [keys.taskQueues, keys.taskTimes(queue), keys.producers(queue), keys.backlog(queue), keys.movingTasks]
      await this.server.run(lua.removeTaskQueueName, all, [queue])
    }
    const owners = [...new Set((await this.#findOwners()).map(({ owner }) => owner))]
    if (owners.length === 0) return []
    const stamps = await this.server.call((client) => client.zmscore(this.keys.leases, ...owners))
    return owners.filter((_, i) => stamps[i] === null)
  }

  /** Finds owners by their keys, in a scan of the whole database. */
  async #findOwners(): Promise<{ queue: string; owner: string }[]> {
    const found: { queue: string; owner: string }[] = []
    const began = performance.now()
    let cursor = '0'
    do {
      const [next, some] = await this.server.call((client) =>
        client.scan(cursor, 'MATCH', this.keys.ownersPattern, 'COUNT', 1000),
      )
      for (const key of some) {
        const parsed = this.keys.parseOwners(key)
        if (parsed) found.push(parsed)
      }
      cursor = next
    } while (cursor !== '0')
    // While the hash slot of a cluster moves, SCAN misses keys that have moved, and EXISTS is refused: no list is incomplete.
    await this.server.call((client) => client.exists(this.keys.absent))
    // A cursor means nothing to another server.
    const { main, options } = this.server
    if (main.unbrokenFor < performance.now() - began) {
      throw new HighkiqError('STORE_UNREACHABLE', `${options.url}: the connection was lost during a scan`)
    }
    return found
  }

  /** Reads leases from a flat list of owners and their stamps. */
  async #leasesOf(flat: readonly string[]): Promise<Lease[]> {
    if (flat.length === 0) return []
    const owners = flat.filter((_, i) => i % 2 === 0)
    const [time, records] = await Promise.all([
      this.server.call((client) => client.time()),
      this.server.fields(
        owners.map((owner) => this.keys.owner(owner)),
        ['seconds', 'host'],
      ),
    ])
    const now = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000)
    return owners.map((owner, i) => {
      const stamp = Number(flat[2 * i + 1])
      const [seconds, host] = records[i] ?? []
      const claimed = stamp < 0
      const ends = claimed ? -stamp : stamp + Number(seconds ?? 0) * 1000
      const ended = claimed || ends < now
      return { owner, host: host ?? '', seconds: Number(seconds ?? 0), stamp, ends, ended, claimed }
    })
  }

  /** Removes owners that were claimed long ago and hold no jobs. */
  async removeOld(isHolding: (owner: string) => boolean): Promise<void> {
    const [seconds] = (await this.server.call((client) => client.time())) as unknown as [string, string]
    const until = REMEMBERED_MS - Number(seconds) * 1000
    const old = await this.server.call((client) => client.zrangebyscore(this.keys.leases, `(${until}`, '(0'))
    for (const owner of old) {
      if (isHolding(owner)) continue
      const { host, queues } = await this.recordOf(owner)
      await this.#remove(owner, host, queues, until)
    }
  }

  async #remove(owner: string, host: string, queues: readonly string[], until: number | ''): Promise<boolean> {
    const own = queues.flatMap((queue) => [
      this.keys.working(queue, owner),
      this.keys.arriving(queue, owner),
      this.keys.settled(queue, owner),
    ])
    const all = [this.keys.leases, this.keys.owner(owner), this.keys.machine(machineOf(host)), ...own]
    return this.server.succeeds(lua.removeOwner, all, [owner, until])
  }
}

function queuesIn(fields: readonly string[]): string[] {
  return fields.filter((field) => field.startsWith(QUEUE_FIELD)).map((field) => field.slice(QUEUE_FIELD.length))
}
