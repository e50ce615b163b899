import type { IterationRecord, JobStore, PushItem, QueueInfo, TrackedPush } from '../contract.ts'
import { ANSWER_SECONDS, SqliteArea } from './file/store-file.ts'
import { pushAll, pushAllOrNone, pushInChunks } from './jobs/push.ts'
import { OrderedTables } from './ordered/tables.ts'
import { saveIteration } from './queues/iterations.ts'
import { SPAN_OF_PRIORITY } from './queues/queues.ts'
import { sql } from './sql.generated.ts'
import { pushAllTracked } from './tasks/task-store.ts'

/** This file is outside the areas, because `hq.transaction` may push tracked and ordered jobs as well. */
export class SqliteJobStore extends SqliteArea implements JobStore {
  readonly push: JobStore['push'] = (items, now) =>
    pushInChunks(this.file, items, (db, chunk) => pushAll(db, chunk, now))

  readonly transaction: JobStore['transaction'] = (work, now, refused) =>
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
        const some = pushAllOrNone(db, plain, now)
        if (some.length > 0) refused?.(some)
        pushAllTracked(db, tracked, now)
      },
    )

  readonly pushThrough = null

  readonly queues: JobStore['queues'] = (only) =>
    this.file.readAtOnce((db) => {
      const infos = only
        ? only.map((name) => db.first<QueueInfo>(sql.queue.one, name) ?? { name, size: 0, limited: 0, next: null })
        : db.all<QueueInfo>(sql.queue.list)
      const heads = db.all<{ name: string; text: string | null }>(sql.queue.heads, -SPAN_OF_PRIORITY / 2)
      if (heads.length === 0) return infos
      return infos.map((info) => {
        const others = heads.flatMap(({ name, text }) => (name === info.name && text !== null ? [text] : []))
        return others.length > 0 ? { ...info, others } : info
      })
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
