/** Rows of tasks: adding, cancelling and retrying them, changing their events, and the parts of files that they produce. */

import { memberText } from '../../../job/json.ts'
import { taskJid } from '../../../job/payload.ts'
import {
  type AddAnswer,
  type AttemptRef,
  dueOf,
  type EventEffect,
  type NewRow,
  type RetryRow,
  type TaskStore,
  type TrackedPush,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { type Call, STATUS_NUMBER, writeTaskQueues } from '../server/call.ts'
import { chunksOf } from '../server/chunks.ts'
import { storedInSteps } from '../server/confirmed-push.ts'
import type { Argument } from '../server/connection.ts'
import { StorePart } from '../server/server.ts'
import { headerOf, taskQueuesOf } from './record.ts'
import { answerOf } from './tasks.ts'

/** The most rows that one script changes, and the most that it takes out of the window. */
const MAX_ROWS = 100
const MAX_LEAVING = 1000

const RETRIED = { o: 'ok', g: 'gone', d: 'dropped' } as const

export class TaskRows extends StorePart implements Partial<TaskStore> {
  async addRows(
    task: string,
    producer: string,
    from: number,
    rows: readonly NewRow[],
    now: number,
    last = '',
  ): Promise<AddAnswer> {
    const args: Argument[] = [now, producer, from, last, rows.length]
    // The position in `args` of the size of a group of plain rows; then come the number of its first row, and the rows.
    let group = 0
    for (const { args: text, number, source = '', job = '', rejected } of rows) {
      if (source === '' && job === '' && !rejected) {
        const size = args[group] as number
        const first = args[group + 1]
        const next = first === '' ? undefined : (first as number) + size
        if (group > 0 && number === next) args[group] = size + 1
        else group = args.push(1, number ?? '') - 2
        args.push(text)
        continue
      }
      const { status = 'enqueued', code = '', messages = [] } = rejected ?? {}
      group = 0
      args.push(0, text, number ?? '', source, job, STATUS_NUMBER[status], code, messages.length)
      for (const message of messages) args.push(JSON.stringify(message))
    }
    return answerOf(await this.server.confirmedByReplicas(() => this.server.runOnTask(task, lua.taskAddRows, args)))
  }

  async cancelRows(
    id: string,
    most: number,
    now: number,
  ): Promise<{ cancelled: number; maybeRunning: string[]; done: boolean }> {
    const answer = (await this.server.runOnTask(id, lua.taskCancelRows, [now, most])) ?? ['0', '1']
    const [cancelled, done, ...maybeRunning] = answer as string[]
    const jids = maybeRunning.map((index) => taskJid(id, Number(index)))
    return { cancelled: Number(cancelled), maybeRunning: jids, done: done === '1' }
  }

  async startRun(id: string, run: number, producer: string, now: number, rows: readonly RetryRow[] = []) {
    const chunks = rows.length > 0 ? this.#retryArguments(rows) : [[0]]
    for (const some of chunks) {
      const args = [now, run, producer, ...some]
      const answer = (await this.server.runOnTask(id, lua.taskStartRun, args, this.keys.set('dead'))) ?? null
      if (answer !== 'empty') return answer as 'ok' | 'gone' | 'cancelling' | null
    }
    return 'empty'
  }

  async retryRows(id: string, run: number, rows: readonly RetryRow[], now: number) {
    const answers: ('ok' | 'gone' | 'dropped')[] = []
    for (const some of this.#retryArguments(rows)) {
      const letters = await this.server.runOnTask(id, lua.taskRetryRows, [now, run, ...some], this.keys.set('dead'))
      for (const letter of (letters as string | undefined) ?? 'g'.repeat(some[0] as number))
        answers.push(RETRIED[letter as keyof typeof RETRIED])
    }
    return answers
  }

  /** Yields the arguments of each call: the number of its rows, then the rows (see retried-rows.lua). */
  *#retryArguments(rows: readonly RetryRow[]): Generator<Argument[]> {
    const { texts } = this.server
    const lengthOf = ({ args, source, dead }: RetryRow) =>
      (args?.length ?? 0) + (source?.length ?? 0) + (dead?.text.length ?? 0)
    for (const some of chunksOf(rows, lengthOf, MAX_ROWS)) {
      const args: Argument[] = [some.length]
      for (const { index, args: text = '', source = '', dead } of some) {
        args.push(index, text, source, dead?.score ?? '', dead ? texts.write(dead.text) : '')
      }
      yield args
    }
  }

  async changeEvents(effects: readonly EventEffect[], now: number): Promise<void> {
    for (const some of chunksOf(effects, ({ result }) => result?.length ?? 0, MAX_ROWS)) {
      const fill = (call: Call) => call.effects(some)
      await this.server.runCall(lua.taskChangeEvents, now, [], [{ effects: some }], fill)
    }
  }

  async leaveWindow(id: string, indexes: readonly number[], now: number): Promise<void> {
    for (const some of chunksOf(indexes, () => 0, MAX_LEAVING)) {
      await this.server.runOnTask(id, lua.taskLeaveWindow, [now, ...some])
    }
  }

  /** @throws PushError */
  async pushTracked(items: readonly TrackedPush[], now: number): Promise<void> {
    const some = chunksOf(items, ({ item }) => 2 * item.text.length, MAX_ROWS)
    const steps = Array.from(some, (piece) => ({
      items: piece.map(({ item }) => item),
      put: () => this.#pushSome(piece, now),
    }))
    await storedInSteps(this.server, steps)
    if (items.some(({ item: { to } }) => to !== 'queue' && to !== 'dead')) this.server.due.notify()
  }

  async #pushSome(items: readonly TrackedPush[], now: number): Promise<void> {
    const { keys } = this
    await this.server.all((pipeline) => {
      for (const { task } of items) pipeline.hsetnx(keys.tasks, task.id, writeTaskQueues(taskQueuesOf(task)))
    })
    await this.server.loadTasks(items.map(({ task }) => task.id))
    await this.server.runCall(lua.taskPushSingle, now, [keys.taskQueues], [], (call) => {
      call.add(items.length)
      for (const { task, item } of items) {
        const fields = headerOf({ ...task, single: true })
        const due = dueOf(task, item) ?? task.createdAt
        const args = memberText(item.text, 'args') ?? item.text
        call.add(call.task(task.id) as number, task.queue, task.id, task.createdAt, due, args)
        call.add(item.to === 'queue' ? 1 : 0, fields.length / 2, ...fields)
        call.item(item, item.effects)
      }
    })
  }

  async putPart(
    id: string,
    index: number,
    bytes: Uint8Array,
    most: number,
    by?: AttemptRef,
  ): ReturnType<TaskStore['putPart']> {
    const found = await this.server.findTask(id)
    if (!found) return 'unknown'
    const all = [...found.keys, this.keys.parts(found.queue, id)]
    const args = [index, Buffer.from(bytes), most, by?.run ?? '', by?.attempt ?? '']
    return (await this.server.run(lua.taskPutPart, all, args)) as 'ok' | 'full' | 'unknown' | 'stale'
  }

  async part(id: string, index: number): Promise<Uint8Array | null> {
    const found = await this.server.findTask(id)
    if (!found) return null
    const bytes = await this.server.call((client) => client.hgetBuffer(this.keys.parts(found.queue, id), String(index)))
    return bytes && new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
  }
}
