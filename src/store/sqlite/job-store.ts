import type { IterationRecord, JobStore, PushItem, QueueInfo, TrackedPush } from '../contract.ts'
import { ANSWER_SECONDS, SqliteArea } from './file/store-file.ts'
import { pushAll, pushInChunks } from './jobs/moves.ts'
import { OrderedTables } from './ordered/tables.ts'
import { saveIteration } from './queues/iterations.ts'
import { sql } from './sql.generated.ts'
import { pushAllTracked } from './tasks/task-store.ts'

/** This file is outside the areas, because `hq.transaction` may push tracked and ordered jobs as well. */
export class SqliteJobStore extends SqliteArea implements JobStore {
  readonly push: JobStore['push'] = (items, now) =>
    pushInChunks(this.file, items, (db, chunk) => pushAll(db, chunk, now))

  readonly transaction: JobStore['transaction'] = (work, now) =>
    this.file.writeAlone(
      (db) => work(db.connection),
      (db, items) => {
        const plain: PushItem[] = []
        const tracked: TrackedPush[] = []
        for (const item of items) {
          if ('task' in item) tracked.push(item)
          else if (item.to === 'ordered') db.get(OrderedTables).push(item.queue, item.shards, item.items)
          else plain.push(item)
        }
        pushAll(db, plain, now)
        pushAllTracked(db, tracked, now)
      },
    )

  readonly queues: JobStore['queues'] = (only) =>
    this.file.read((db) => {
      if (!only) return db.all<QueueInfo>(sql.queue.list)
      return only.map((name) => db.first<QueueInfo>(sql.queue.one, name) ?? { name, size: 0, next: null })
    })

  readonly peek: JobStore['peek'] = (queue, offset, limit) =>
    this.file.read((db) => db.all<{ text: string }>(sql.queue.peek, queue, limit, offset).map(({ text }) => text))

  readonly pauseQueue: JobStore['pauseQueue'] = (queue, on) =>
    this.file.write((db) => {
      db.run(on ? sql.queue.pause : sql.queue.resume, queue)
      if (!on) db.notify(queue)
    }, ANSWER_SECONDS)

  readonly pausedQueues: JobStore['pausedQueues'] = () =>
    this.file.read((db) => db.all<{ queue: string }>(sql.queue.paused).map(({ queue }) => queue))
  readonly iterations: JobStore['iterations'] = (jids) =>
    this.file.read((db) => jids.map((jid) => db.first<IterationRecord>(sql.iteration.find, jid) ?? null))

  readonly saveIteration: JobStore['saveIteration'] = (jid, state, now) =>
    this.file.write((db) => saveIteration(db, jid, state, now), ANSWER_SECONDS)
}
