/** Resharding a queue while its jobs run: waiting ids are moved a page at a time. */

import { RESHARD_PAGE, shardOf } from '../../contract.ts'
import type { WaitingPosition } from '../../sql/ordered-rows.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import { nextNumber, type OpenQueue } from './open-queue.ts'
import { behindId } from './page-bounds.ts'

/** Returns false if the queue is being resharded to another number. */
export async function beginReshard(db: Database, open: OpenQueue, shards: number): Promise<boolean> {
  if (open.queue.shards === shards) return true
  if (open.queue.from !== null) return false
  await db.run(sql.ordered.addShards, open.id, shards, await nextNumber(db))
  open.changeQueue({ shards, from: open.queue.shards, reshardAfter: null })
  open.notify()
  return true
}

/** Reads a page of ids and moves those that belong to another shard. `done`: there is no further page. */
export async function moveShards(db: Database, open: OpenQueue): Promise<{ moved: number; done: boolean }> {
  const { shards, from, reshardAfter } = open.queue
  if (from === null) return { moved: 0, done: true }
  type Row = WaitingPosition & { id: string }
  const page = await db.all<Row>(
    sql.waiting.page,
    open.id,
    ...behindId(open.id, false, reshardAfter ?? undefined),
    RESHARD_PAGE,
  )
  const last = page.at(-1)
  if (!last) {
    await endReshard(db, open)
    return { moved: 0, done: true }
  }
  const moving = page.filter(({ id, shard }) => shardOf(id, shards) !== shard)
  const moved = moving.map((row) => ({ ...row, shard: shardOf(row.id, shards) }))
  await open.readShards([...moving, ...moved].map(({ shard }) => shard))
  await open.removeWaiting(moving)
  await open.addWaiting(moved)
  const columns = [moved.map(({ id }) => id), moved.map(({ shard }) => shard)]
  if (moved.length > 0) await db.run(sql.waiting.move, open.id, ...columns)
  open.changeQueue({ reshardAfter: last.id })
  return { moved: moved.length, done: false }
}

/** Ends resharding, unless ids are in flight in a former shard, which must keep its owner until they are settled. */
async function endReshard(db: Database, open: OpenQueue): Promise<void> {
  const { shards } = open.queue
  const rows = await db.all<{ shard: number }>(sql.ordered.formerShards, open.id, shards)
  const gone = rows.map(({ shard }) => shard)
  await open.readShards([...gone, ...gone.map((number) => number % shards)])
  for (const number of gone) if (((await open.readShard(number))?.busy ?? 0) > 0) return
  for (const number of gone) {
    const shard = await open.changeShard(number)
    const heir = await open.changeShard(number % shards)
    heir.processed += shard.processed
    heir.failed += shard.failed
    Object.assign(shard, { owner: 0, died: null, processed: 0, failed: 0 })
  }
  open.changeQueue({ from: null, reshardAfter: null })
  open.notify()
}
