/** Changing the number of shards of a queue while it is worked: what waits is moved a page at a time, by its id. */

import { RESHARD_PAGE, shardOf } from '../../contract.ts'
import type { Database } from '../database.ts'
import { sql } from '../sql.generated.ts'
import { nextNumber, type OrderedBook } from './book.ts'
import { idFrom } from './page.ts'

/** id, shard, held, performIn, retryCount. */
type Listed = [string, number, number, string, number]

/** False: it is being resharded to another number. */
export function beginReshard(db: Database, book: OrderedBook, shards: number): boolean {
  if (book.queue.shards === shards) return true
  if (book.queue.from !== null) return false
  db.run(sql.ordered.addShards, book.id, shards, nextNumber(db))
  book.changeQueue({ shards, from: book.queue.shards, swept: null })
  book.ring()
  return true
}

/** Looks at one page and moves what does not belong where it is. `done`: there is no further page. */
export function moveShards(db: Database, book: OrderedBook): { moved: number; done: boolean } {
  const { shards, from, swept } = book.queue
  if (from === null) return { moved: 0, done: true }
  const page = db.list<Listed>(sql.waiting.page, book.id, idFrom(false, swept ?? undefined), RESHARD_PAGE)
  const moves = new Map<number, string[]>()
  let moved = 0
  for (const [id, shard, held, performIn, retryCount] of page) {
    const target = shardOf(id, shards)
    if (target === shard) continue
    const there = moves.get(target)
    if (there) there.push(id)
    else moves.set(target, [id])
    book.leaves({ shard, held, performIn: Number(performIn), retryCount })
    book.waits({ shard: target, held, performIn: Number(performIn), retryCount })
    moved++
  }
  for (const [target, ids] of moves) db.run(sql.waiting.move, book.id, target, JSON.stringify(ids))
  const last = page.at(-1)
  if (last) book.changeQueue({ swept: last[0] })
  else endReshard(db, book)
  return { moved, done: last === undefined }
}

/** All is where it belongs; but as long as something is in flight under a shard that is gone, somebody must own that. */
function endReshard(db: Database, book: OrderedBook): void {
  const gone = db.list<number>(sql.ordered.allShards, book.id).filter((number) => number >= book.queue.shards)
  if (gone.some((number) => (book.look(number)?.busy ?? 0) > 0)) return
  for (const number of gone) {
    const shard = book.shard(number)
    const heir = book.shard(number % book.queue.shards)
    heir.processed += shard.processed
    heir.failed += shard.failed
    Object.assign(shard, { owner: 0, processed: 0, failed: 0 })
  }
  book.changeQueue({ from: null, swept: null })
  book.ring()
}
