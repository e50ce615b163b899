import type {
  IterationRecord,
  IterationState,
  JobStore,
  OrderedPushes,
  PushItem,
  QueueInfo,
  SqlConnection,
  TrackedPush,
  TransactionItem,
} from '../../contract.ts'
import type { Database } from '../file/database.ts'
import { ANSWER_SECONDS, SqliteArea, type StoreFile } from '../file/store-file.ts'
import { saveIteration } from '../queues/iterations.ts'
import { sql } from '../sql.generated.ts'
import { pushAll, pushInChunks } from './moves.ts'

/** How other areas push what a transaction may contain beside plain jobs. */
interface OtherPushes {
  ordered(db: Database, pushes: OrderedPushes): void
  tracked(db: Database, items: readonly TrackedPush[], now: number): void
}

export class SqliteJobStore extends SqliteArea implements JobStore {
  readonly #others: OtherPushes

  constructor(file: StoreFile, others: OtherPushes) {
    super(file)
    this.#others = others
  }

  push(items: PushItem[], now: number): Promise<void> {
    return pushInChunks(this.file, items, (db, chunk) => pushAll(db, chunk, now))
  }

  transaction(work: (connection: SqlConnection) => Promise<TransactionItem[]>, now: number): Promise<void> {
    return this.file.writeAlone(
      (db) => work(db.connection),
      (db, items) => {
        const plain: PushItem[] = []
        const tracked: TrackedPush[] = []
        for (const item of items) {
          if ('task' in item) tracked.push(item)
          else if (item.to === 'ordered') this.#others.ordered(db, item)
          else plain.push(item)
        }
        pushAll(db, plain, now)
        this.#others.tracked(db, tracked, now)
      },
    )
  }

  queues(only?: readonly string[]): Promise<QueueInfo[]> {
    return this.file.read((db) => {
      if (!only) return db.all<QueueInfo>(sql.queue.list)
      return only.map((name) => db.first<QueueInfo>(sql.queue.one, name) ?? { name, size: 0, next: null })
    })
  }

  peek(queue: string, offset: number, limit: number): Promise<string[]> {
    return this.file.read((db) =>
      db.all<{ text: string }>(sql.queue.peek, queue, limit, offset).map(({ text }) => text),
    )
  }

  pauseQueue(queue: string, on: boolean): Promise<void> {
    return this.file.write((db) => {
      db.run(on ? sql.queue.pause : sql.queue.resume, queue)
      if (!on) db.notify(queue)
    }, ANSWER_SECONDS)
  }

  pausedQueues(): Promise<string[]> {
    return this.file.read((db) => db.all<{ queue: string }>(sql.queue.paused).map(({ queue }) => queue))
  }

  iterations(jids: readonly string[]): Promise<(IterationRecord | null)[]> {
    return this.file.read((db) => jids.map((jid) => db.first<IterationRecord>(sql.iteration.find, jid) ?? null))
  }

  saveIteration(jid: string, state: IterationState, now: number): Promise<boolean> {
    return this.file.write((db) => saveIteration(db, jid, state, now), ANSWER_SECONDS)
  }
}
