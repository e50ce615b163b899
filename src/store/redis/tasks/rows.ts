/** Rows of tasks: how they come in, and what happens to many of them. */

import { memberText } from '../../../job/json.ts'
import { taskJid } from '../../../job/payload.ts'
import {
  type AddAnswer,
  dueOf,
  type EventEffect,
  type NewRow,
  type PushItem,
  type RetryRow,
  type TaskSpec,
} from '../../contract.ts'
import { STATUS_NUMBER, tasksOf, writePlace } from '../call.ts'
import type { Argument } from '../connection.ts'
import { lua } from '../lua.generated.ts'
import { pieces, storedInSteps } from '../queues.ts'
import type { Server } from '../server.ts'
import { headerOf, placeOf } from './record.ts'
import { answerOf } from './tasks.ts'

/** One script does no more. */
const MOST_ITEMS = 100
const MOST_PLACES = 1000

const RETRIED = { o: 'ok', g: 'gone', d: 'dropped' } as const

export class TaskRows {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  async add(
    task: string,
    adder: string,
    from: number,
    rows: readonly NewRow[],
    now: number,
    last = '',
  ): Promise<AddAnswer> {
    const found = await this.#server.findTask(task)
    if (!found) return { ok: false, reason: 'unknown', cursor: 0 }
    const args: Argument[] = [now, adder, from, last, rows.length]
    for (const { args: text, number = '', source = '', job = '', rejected } of rows) {
      args.push(text, number)
      if (source === '' && job === '' && !rejected) {
        args.push('')
        continue
      }
      const { status = 'enqueued', code = '', messages = [] } = rejected ?? {}
      args.push('+', source, job, STATUS_NUMBER[status], code, messages.length)
      for (const message of messages) args.push(JSON.stringify(message))
    }
    const main = await this.#server.ready()
    const keys = [...found.keys, this.#server.keys.queues]
    return answerOf(await this.#server.storing(() => main.run(lua.taskRows, keys, args)))
  }

  async cancel(
    id: string,
    most: number,
    now: number,
  ): Promise<{ cancelled: number; maybeRunning: string[]; done: boolean }> {
    const found = await this.#server.findTask(id)
    if (!found) return { cancelled: 0, maybeRunning: [], done: true }
    const main = await this.#server.ready()
    const all = [...found.keys, this.#server.keys.queues]
    const [cancelled, done, ...maybeRunning] = (await main.run(lua.taskCancelRows, all, [now, most])) as string[]
    return {
      cancelled: Number(cancelled),
      maybeRunning: maybeRunning.map((index) => taskJid(id, Number(index))),
      done: done === '1',
    }
  }

  async retry(id: string, run: number, rows: readonly RetryRow[], now: number) {
    const { keys, texts } = this.#server
    const found = await this.#server.findTask(id)
    if (!found) return rows.map(() => 'gone' as const)
    const answers: ('ok' | 'gone' | 'dropped')[] = []
    const main = await this.#server.ready()
    const lengthOf = ({ args, source, dead }: RetryRow) =>
      (args?.length ?? 0) + (source?.length ?? 0) + (dead?.text.length ?? 0)
    for (const some of pieces(rows, lengthOf, MOST_ITEMS)) {
      const args: Argument[] = [now, run, some.length]
      for (const { index, args: text = '', source = '', dead } of some) {
        args.push(index, text, source, dead?.score ?? '', dead ? texts.write(dead.text) : '')
      }
      const all = [...found.keys, keys.queues, keys.set('dead', found.queue)]
      const letters = (await main.run(lua.taskRetry, all, args)) as string
      for (const letter of letters) answers.push(RETRIED[letter as keyof typeof RETRIED])
    }
    return answers
  }

  async changeEvents(effects: readonly EventEffect[], now: number): Promise<void> {
    const server = this.#server
    await server.learn(tasksOf(effects))
    const main = await server.ready()
    for (const some of pieces(effects, ({ result }) => result?.length ?? 0, MOST_ITEMS)) {
      const call = server.call()
      call.key(server.keys.queues)
      call.add(now, server.keys.wake)
      call.effects(some)
      await main.run(lua.taskEffects, call.keys, call.args)
    }
  }

  async freePlaces(id: string, indexes: readonly number[], now: number): Promise<void> {
    const found = await this.#server.findTask(id)
    if (!found) return
    const main = await this.#server.ready()
    for (const some of pieces(indexes, () => 0, MOST_PLACES)) {
      await main.run(lua.taskPlaces, [...found.keys, this.#server.keys.queues], [now, ...some])
    }
  }

  /** @throws PushError */
  async pushTracked(items: readonly { task: TaskSpec; item: PushItem }[], now: number): Promise<void> {
    const some = pieces(items, ({ item }) => 2 * item.text.length, MOST_ITEMS)
    const steps = Array.from(some, (piece) => ({
      items: piece.map(({ item }) => item),
      put: () => this.#pushSome(piece, now),
    }))
    await storedInSteps(this.#server, steps)
  }

  async #pushSome(items: readonly { task: TaskSpec; item: PushItem }[], now: number): Promise<void> {
    const server = this.#server
    const { keys } = server
    const main = await server.ready()
    await main.all((pipeline) => {
      for (const { task } of items) pipeline.hsetnx(keys.tasks, task.id, writePlace(placeOf(task)))
    })
    await server.learn(items.map(({ task }) => task.id))
    const call = server.call()
    call.key(keys.queues)
    call.key(keys.ourQueues)
    call.add(now, keys.wake, items.length)
    for (const { task, item } of items) {
      const fields = headerOf({ ...task, single: true })
      const due = dueOf(task, item) ?? task.createdAt
      const args = memberText(item.text, 'args') ?? item.text
      call.add(call.task(task.id) as number, task.queue, task.id, task.createdAt, due, args)
      call.add(item.to === 'queue' ? 1 : 0, fields.length / 2, ...fields)
      call.item(item, task.queue, item.effects)
    }
    await main.run(lua.taskSingle, call.keys, call.args)
  }
}
