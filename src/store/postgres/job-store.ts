import type { JobStore, QueueInfo, RefusedPush } from '../contract.ts'
import { pushThrough } from './app-transaction.ts'
import { PushGroup, plainPushOf } from './jobs/plain-push.ts'
import { pushItems } from './jobs/push.ts'
import { readIterations, saveIteration } from './queues/iterations.ts'
import { SPAN_OF_PRIORITY } from './queues/queues.ts'
import { ANSWER_SECONDS, PostgresArea } from './server/store-server.ts'
import { sql } from './sql.generated.ts'

export class PostgresJobStore extends PostgresArea implements JobStore {
  /** Resolves when the pushes so far have ended. */
  #lastPush: Promise<unknown> = Promise.resolve()
  /** The pushes that wait to be stored, and share the next statement with those that come meanwhile. */
  #waiting: PushGroup | undefined

  // Calls made one after the other are stored in their order, so they do not run on several connections at once.
  readonly push: JobStore['push'] = (items, now) => {
    const plain = plainPushOf(items)
    if (!plain) {
      this.#waiting = undefined
      return this.#afterLast((last) => last.then(() => pushItems(this.server, items, now)))
    }
    if (!this.#waiting?.hasRoomFor(plain)) {
      const group: PushGroup = new PushGroup(this.server, plain.queue, this.#lastPush, () => {
        if (this.#waiting === group) this.#waiting = undefined
      })
      this.#waiting = group
    }
    const group = this.#waiting
    return this.#afterLast(() => group.add(plain))
  }

  #afterLast(push: (last: Promise<unknown>) => Promise<readonly RefusedPush[]>): Promise<readonly RefusedPush[]> {
    const pushed = push(this.#lastPush)
    this.#lastPush = pushed.catch(() => undefined)
    return pushed
  }

  readonly transaction: JobStore['transaction'] = null

  readonly pushThrough: JobStore['pushThrough'] = (query, items, now, options) =>
    pushThrough(this.server, query, items, now, options)

  readonly queues: JobStore['queues'] = (only) =>
    this.server.read(async (db) => {
      const known = await (only ? db.all<QueueInfo>(sql.queue.those, only) : db.all<QueueInfo>(sql.queue.list))
      const byName = new Map(known.map((info) => [info.name, info]))
      const infos = only?.map((name) => byName.get(name) ?? { name, size: 0, limited: 0, next: null }) ?? known
      const heads = await db.all<{ name: string; text: string }>(sql.queue.heads, SPAN_OF_PRIORITY)
      if (heads.length === 0) return infos
      return infos.map((info) => {
        const texts = heads.flatMap(({ name, text }) => (name === info.name ? [text] : []))
        return texts.length > 0 ? { ...info, others: texts } : info
      })
    })

  readonly peek: JobStore['peek'] = (queue, offset, limit) =>
    this.server.read(async (db) =>
      (await db.all<{ text: string }>(sql.queue.peek, queue, limit, offset)).map(({ text }) => text),
    )

  readonly pauseQueue: JobStore['pauseQueue'] = (queue, on) =>
    this.server.write(async (db) => {
      await db.run(on ? sql.queue.pause : sql.queue.resume, queue)
      if (!on) db.notify(queue)
    }, ANSWER_SECONDS)

  readonly pausedQueues: JobStore['pausedQueues'] = () =>
    this.server.read(async (db) => (await db.all<{ queue: string }>(sql.queue.paused)).map(({ queue }) => queue))
  readonly iterations: JobStore['iterations'] = (jids) => this.server.runOne((db) => readIterations(db, jids))

  // This write does not wait for the writers.
  readonly saveIteration: JobStore['saveIteration'] = (jid, state, now) =>
    this.server.runOne((db) => saveIteration(db, jid, state, now))
}
