/** Resharding a queue while its jobs run: waiting ids are moved a page at a time. */

import { RESHARD_PAGE, shardOf } from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { sql } from '../sql.generated.ts'
import { nextNumber, type OpenQueue } from './open-queue.ts'
import { idFrom } from './page-bounds.ts'

/** id, shard, inFlight, performIn, retryCount. */
type Listed = [string, number, number, string, number]

/** Returns false if the queue is being resharded to another number. */
export function beginReshard(db: Database, open: OpenQueue, shards: number): boolean {
  if (open.queue.shards === shards) return true
  if (open.queue.from !== null) return false
  db.run(sql.ordered.addShards, open.id, shards, nextNumber(db))
  open.changeQueue({ shards, from: open.queue.shards, reshardAfter: null })
  open.notify()
  return true
}

/** Reads a page of ids and moves those that belong to another shard. `done`: there is no further page. */
export function moveShards(db: Database, open: OpenQueue): { moved: number; done: boolean } {
  const { shards, from, reshardAfter } = open.queue
  if (from === null) return { moved: 0, done: true }
  const page = db.list<Listed>(sql.waiting.page, open.id, idFrom(false, reshardAfter ?? undefined), RESHARD_PAGE)
  const moves = new Map<number, string[]>()
  let moved = 0
  for (const [id, shard, inFlight, performIn, retryCount] of page) {
    const target = shardOf(id, shards)
    if (target === shard) continue
    const there = moves.get(target)
    if (there) there.push(id)
    else moves.set(target, [id])
    open.removeWaiting({ shard, inFlight, performIn: Number(performIn), retryCount })
    open.addWaiting({ shard: target, inFlight, performIn: Number(performIn), retryCount })
    moved++
  }
  for (const [target, ids] of moves) db.run(sql.waiting.move, open.id, target, JSON.stringify(ids))
  const last = page.at(-1)
  if (last) open.changeQueue({ reshardAfter: last[0] })
  else endReshard(db, open)
  return { moved, done: last === undefined }
}

/** Ends resharding, unless ids are in flight in a former shard, which must keep its owner until they are settled. */
function endReshard(db: Database, open: OpenQueue): void {
  const gone = db.list<number>(sql.ordered.allShards, open.id).filter((number) => number >= open.queue.shards)
  if (gone.some((number) => (open.readShard(number)?.busy ?? 0) > 0)) return
  for (const number of gone) {
    const shard = open.changeShard(number)
    const heir = open.changeShard(number % open.queue.shards)
    heir.processed += shard.processed
    heir.failed += shard.failed
    Object.assign(shard, { owner: 0, processed: 0, failed: 0 })
  }
  open.changeQueue({ from: null, reshardAfter: null })
  open.notify()
}
