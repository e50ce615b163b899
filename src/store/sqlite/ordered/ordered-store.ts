import { HighkiqError, PushError } from '../../../job/errors.ts'
import type { OrderedStore } from '../../contract.ts'
import { queueChannel } from '../../sql/ordered-rows.ts'
import type { Step } from '../../sql/ordered-steps.ts'
import { SeenVersions } from '../../sql/seen-versions.ts'
import { settleOrderedOneByOne } from '../../sql/settle-one-by-one.ts'
import type { Database } from '../file/database.ts'
import { maybeDone } from '../file/errors.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { sql } from '../sql.generated.ts'
import type { OpenQueue } from './open-queue.ts'
import { beginReshard, moveShards } from './reshard.ts'
import { UnclearBulkSettlement } from './settle-and-fetch.ts'
import { OrderedTables } from './tables.ts'

export class SqliteOrderedStore extends SqliteArea implements OrderedStore {
  readonly #seenVersions = new SeenVersions()

  readonly define: OrderedStore['define'] = (queue, shards) =>
    this.file.write((db) => db.get(OrderedTables).define(queue, shards).queue.shards, ANSWER_SECONDS)
  readonly queues: OrderedStore['queues'] = () => this.file.read((db) => db.list(sql.ordered.names))
  readonly assignments: OrderedStore['assignments'] = (queue) =>
    this.#read(queue, null, (open, tables) => tables.queries.assignments(open))
  readonly counts: OrderedStore['counts'] = (queue, now) =>
    this.#read(queue, null, (open, tables) => tables.queries.counts(open, now))

  readonly push: OrderedStore['push'] = async (queue, shards, items) => {
    if (items.length === 0) return
    try {
      await this.file.write((db) => {
        db.get(OrderedTables).push(queue, shards, items)
        db.checkRoom()
      }, ANSWER_SECONDS)
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, [], maybeDone(thrown), { cause: thrown })
    }
  }

  readonly join: OrderedStore['join'] = (queue, owner) =>
    this.#change(queue, false, (open, tables) => tables.join(open, owner))

  readonly leave: OrderedStore['leave'] = (queue, owner, now) => {
    this.#seenVersions.remove(owner, queue)
    return this.#change(queue, undefined, (open, tables) => tables.leave(open, owner, now), ANSWER_SECONDS)
  }

  readonly acquireShard: OrderedStore['acquireShard'] = (queue, shard, owner, maxCrashes, now) =>
    this.#change(queue, null, (open, tables) => tables.acquire(open, shard, owner, maxCrashes, now))
  readonly releaseShard: OrderedStore['releaseShard'] = (queue, shard, owner, token, now) =>
    this.#change(queue, false, (open, tables) => tables.release(open, shard, owner, token, now))

  readonly settleAndFetch: OrderedStore['settleAndFetch'] = async (queue, owner, request) => {
    try {
      return await this.file.write((db) => db.get(OrderedTables).settleAndFetch(queue, owner, request, false))
    } catch (thrown) {
      if (thrown instanceof UnclearBulkSettlement)
        return this.file.write((db) => db.get(OrderedTables).settleAndFetch(queue, owner, request, true))
      if (thrown instanceof HighkiqError || request.settlements.length === 0) throw thrown
      return settleOrderedOneByOne(request, (part) =>
        this.file.write((db) => db.get(OrderedTables).settleAndFetch(queue, owner, part, true)),
      )
    }
  }

  readonly inFlight: OrderedStore['inFlight'] = (queue, owner) =>
    this.#read(queue, [], (open, tables) => tables.flights.list(open.id, owner ?? null))

  readonly wait: OrderedStore['wait'] = async (owner, queues, ms, signal) => {
    const end = performance.now() + ms
    const channels = queues.map(queueChannel)
    while (!signal.aborted) {
      const versions = await this.file.read(
        (db) => new Map(queues.map((queue) => [queue, db.get(OrderedTables).open(queue)?.queue.version ?? 0])),
      )
      // An aborted wait also returns what it has read, since the next wait would not find it.
      const update = this.#seenVersions.findChanged(owner, queues, versions)
      const left = end - performance.now()
      if (update || left <= 0) return update
      await this.file.wait(channels, left, signal)
      if (this.file.isClosed) break
    }
    return undefined
  }

  readonly pause: OrderedStore['pause'] = (queue, on) =>
    this.#change(
      queue,
      undefined,
      (open) => {
        if (open.queue.paused === Number(on)) return
        open.changeQueue({ paused: Number(on) })
        open.notify()
      },
      ANSWER_SECONDS,
    )

  readonly reshard: OrderedStore['reshard'] = (queue, shards) =>
    this.#change(queue, false, (open, _, db) => beginReshard(db, open, shards))

  readonly moveShards: OrderedStore['moveShards'] = async (queue) => {
    for (;;) {
      const { moved, done } = await this.#change(queue, { moved: 0, done: true }, (open, _, db) => moveShards(db, open))
      if (moved > 0 || done) return moved
    }
  }

  readonly waiting: OrderedStore['waiting'] = (queue, by, page) =>
    this.#read(queue, [], (open, tables) => tables.queries.waiting(open, by, page))
  readonly find: OrderedStore['find'] = (queue, id) =>
    this.#read(queue, { waiting: null, inFlight: null, dead: null }, (open, tables) => ({
      waiting: tables.queries.find(open, id),
      inFlight: tables.flights.list(open.id, null, id)[0] ?? null,
      dead: tables.morgue.find(open.id, id),
    }))

  readonly act: OrderedStore['act'] = (queue, act, ids, options) =>
    this.#inSteps(queue, ids, (open, tables, rest, begun) => tables.actions.act(open, act, rest, options, begun))
  readonly deletePayload: OrderedStore['deletePayload'] = (queue, id, payload) =>
    this.#change(queue, false, (open, tables) => tables.actions.deletePayload(open, id, payload))
  readonly cancel: OrderedStore['cancel'] = async (queue, ids) => {
    const none = ids.map(() => 'not-found' as const)
    for (;;) {
      const answer = await this.#change(queue, none, (open, tables) => tables.actions.cancel(open, ids))
      if (answer) return answer
    }
  }

  readonly morgue: OrderedStore['morgue'] = (queue, by, page) =>
    this.#read(queue, [], (open, tables) => tables.morgue.page(open.id, by, page))
  readonly resurrect: OrderedStore['resurrect'] = (queue, ids, now) =>
    this.#inSteps(queue, ids, (open, tables, rest) => tables.actions.resurrect(open, rest, now))
  readonly deleteDead: OrderedStore['deleteDead'] = (queue, ids) =>
    this.#inSteps(queue, ids, (open, tables, rest) => tables.morgue.delete(open, rest))
  readonly pruneMorgue: OrderedStore['pruneMorgue'] = async (queue, max, since) => {
    const ids = await this.#read(queue, [], (open, tables) => tables.morgue.excess(open, max, since))
    return this.#inSteps(queue, ids, (open, { morgue }, rest) => {
      // An id that died again meanwhile counts as new.
      const still = new Set(morgue.excess(open, max, since))
      const old = rest.filter((id) => still.has(id))
      return morgue.delete(open, old)
    })
  }
  readonly deleteQueue: OrderedStore['deleteQueue'] = (queue) =>
    this.#change(queue, false, (open, tables) => tables.delete(open), ANSWER_SECONDS)

  async #read<T>(queue: string, none: T, work: (open: OpenQueue, tables: OrderedTables) => T): Promise<T> {
    return this.file.readAtOnce((db) => {
      const tables = db.get(OrderedTables)
      const open = tables.open(queue)
      return open ? work(open, tables) : none
    })
  }

  /**
   * Runs each step in its own transaction, until no id is left.
   * @returns the number of ids that are finished
   */
  async #inSteps(
    queue: string,
    ids: readonly string[],
    step: (open: OpenQueue, tables: OrderedTables, rest: readonly string[], begun: ReadonlySet<string>) => Step,
  ): Promise<number> {
    const begun = new Set<string>()
    let n = 0
    for (let rest = ids; ; ) {
      const done = await this.#change<Step>(queue, { n: 0, rest: [] }, (open, tables) =>
        step(open, tables, rest, begun),
      )
      n += done.n
      if (done.rest.length === 0) return n
      if (done.begun !== undefined) begun.add(done.begun)
      rest = done.rest
    }
  }

  async #change<T>(
    queue: string,
    none: T,
    work: (open: OpenQueue, tables: OrderedTables, db: Database) => T,
    seconds = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    return this.file.write((db) => {
      const tables = db.get(OrderedTables)
      return tables.change(queue, none, (open) => work(open, tables, db))
    }, seconds)
  }
}
