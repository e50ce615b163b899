/** Tasks that go to another store, or come from one. Each change is one script. */

import { taskJid } from '../../../job/payload.ts'
import { taskExists } from '../../../job/task-exists.ts'
import {
  countWithin,
  EVENT_STATUSES,
  type EventStatus,
  type FreezeAnswer,
  isUnsuccessful,
  type MovingTask,
  movingSets,
  type PageOutcome,
  TASK_PART_LENGTH,
  TASK_PART_ROWS,
  type TaskPart,
  type TaskTransferStore,
  TRANSFER_PAGES_KEPT,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { STATUS_NUMBER } from '../server/call.ts'
import type { Argument, Reply } from '../server/connection.ts'
import { type Server, StorePart } from '../server/server.ts'
import {
  newEntry,
  ownEntry,
  RECORD_BYTES,
  ROW_TEXTS,
  readHead,
  readOwnEntry,
  readRecord,
  readRow,
  writeFields,
  writeHead,
  writeRecord,
} from './moved-tasks.ts'
import type { Tasks } from './tasks.ts'

const EMPTY_PART: TaskPart = { task: null, rows: [], backlog: [], files: [], next: null }
const NO_ROWS = { createdAt: 0, total: 0 }
/** No part has this cursor. */
const NEVER = '-'
/** The number of backlog entries that are read at once. */
const ENTRIES = 500

/** A sealed task. */
interface Sealed {
  id: string
  queue: string
  /** The keys of the task, with that of its hidden header. */
  keys: string[]
  header: Record<string, string>
}

export class TaskTransfers extends StorePart implements TaskTransferStore {
  readonly #tasks: Tasks

  constructor(server: Server, tasks: Tasks) {
    super(server)
    this.#tasks = tasks
  }

  /** The cursor is that of HSCAN. An id may come twice. */
  async taskIds({ after = '0', limit }: { after?: string | undefined; limit: number }) {
    const [next, flat] = await this.server.call((client) => client.hscan(this.keys.tasks, after, 'COUNT', limit))
    return { ids: flat.filter((_, i) => i % 2 === 0), next: next === '0' ? null : next }
  }

  async freeze(id: string, now: number): Promise<FreezeAnswer> {
    const answer = await this.server.runOnTask(id, lua.taskFreeze, [now, id, 1], this.keys.movingTasks)
    return (answer ?? 'gone') as FreezeAnswer
  }

  async unfreeze(id: string, now: number): Promise<boolean> {
    const { movingTasks } = this.keys
    const sets = movingSets(id).map((set) => this.keys.set(set))
    const answer = await this.server.runOnTask(id, lua.taskFreeze, [now, id, ''], movingTasks, ...sets)
    if (answer !== undefined) return answer === 'ok'
    // The task was deleted, so that no mover freezes it again.
    if ((await this.server.call((client) => client.exists(...sets))) > 0) return false
    if ((await this.server.call((client) => client.hget(movingTasks, id))) !== '') return false
    return (await this.server.call((client) => client.hdel(movingTasks, id))) === 1
  }

  async movingTasks(): Promise<MovingTask[]> {
    const all = await this.server.call((client) => client.hgetall(this.keys.movingTasks))
    return Object.entries(all)
      .map(([id, text]) => {
        const [transfer = '', target = ''] = text.split('\n')
        return { id, sealed: text === '' ? null : { transfer, target } }
      })
      .sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  async seal(id: string, transfer: string, target: string, counts: Record<EventStatus, number>): Promise<boolean> {
    const found = await this.server.findTask(id)
    if (!found) return false
    const all = EVENT_STATUSES.map((status) => counts[status])
    const keys = [this.keys.movingTasks, this.keys.movingTask(found.queue, id)[0], this.keys.transferJobs]
    return (await this.server.runOnTask(id, lua.taskSeal, [0, transfer, target, ...all], ...keys)) === 1
  }

  async unseal(id: string, transfer: string): Promise<boolean> {
    const found = await this.server.findTask(id)
    if (!found) return false
    const keys = [...found.keys, this.keys.movingTasks, this.keys.movingTask(found.queue, id)[0]]
    return this.server.succeeds(lua.taskUnseal, keys, [id, transfer])
  }

  async readTask(id: string, transfer: string, cursor: string): Promise<TaskPart | null> {
    const sealed = await this.#sealed(id, transfer)
    if (!sealed) return null
    const after = Number(cursor.slice(1))
    if (cursor === '') return { ...EMPTY_PART, task: readHead(sealed.header), next: 'r0' }
    if (cursor.startsWith('r')) return this.#rows(sealed, after)
    if (cursor.startsWith('b')) return this.#backlog(sealed, after)
    return this.#file(sealed, after)
  }

  async dropTask(id: string, transfer: string): Promise<boolean> {
    const sealed = await this.#sealed(id, transfer)
    if (!sealed) return false
    const { queue, header } = sealed
    const labels = this.#tasks.labelKeys(readHead(header).spec.labels)
    const sets = movingSets(id).map((set) => this.keys.set(set))
    const { movingTasks, transferJobs } = this.keys
    const keys = [this.keys.movingTask(queue, id)[0], movingTasks, this.keys.taskTimes(queue), transferJobs, ...sets]
    keys.push(...labels)
    if (!(await this.server.succeeds(lua.taskDrop, keys, [id, transfer]))) return false
    return this.#tasks.deleteRest(id)
  }

  async putTask(
    id: string,
    transfer: string,
    cursor: string,
    part: TaskPart,
    now: number,
  ): Promise<PageOutcome | { cursor: string }> {
    if (part.task) {
      const known = await this.#outcomeOf(transfer)
      if (known) return known
      if (!(await this.#tasks.announce(part.task.spec))) throw taskExists(id)
    }
    const found = await this.server.findTask(id)
    // Another mover has ended this task meanwhile.
    if (!found) return (await this.#outcomeOf(transfer)) ?? { cursor: '' }
    const { queue, keys } = found
    const { deferred, taskQueues } = this.keys
    const hidden = this.keys.movingTask(queue, id)
    const all = [
      ...keys,
      this.keys.queues,
      ...hidden,
      this.keys.parts(queue, id),
      deferred,
      taskQueues,
      this.#outcomes(transfer),
    ]
    const head = part.task ? writeHead(part.task.spec, part.task.progress) : { header: [], rows: [] }
    const about = part.task ? NO_ROWS : await this.#about(hidden[0])
    // Without a header this is not the next part, so the script stores nothing.
    const { cursor: at, ...stored } = about ? { ...part, cursor } : { ...EMPTY_PART, cursor: NEVER }
    const args: Argument[] = [now, transfer, TRANSFER_PAGES_KEPT, at, stored.next ?? '']
    args.push(head.header.length, ...head.header)
    args.push(...argumentsOf(id, stored, head.rows, about ?? NO_ROWS))
    const answer = (await this.server.confirmedByReplicas(() => this.server.run(lua.taskPut, all, args))) as string[]
    const [word, next = ''] = answer
    if (word === 'exists') throw taskExists(id)
    return word === 'next' ? { cursor: next } : (word as PageOutcome)
  }

  async voidTask(id: string, transfer: string): Promise<PageOutcome> {
    const found = await this.server.findTask(id)
    const queue = found?.queue ?? ''
    const keys = found?.keys ?? [...this.keys.task(queue, id), ...Array<string>(5).fill(this.keys.backlog(queue))]
    const all = [...keys, ...this.keys.movingTask(queue, id), this.keys.parts(queue, id), this.#outcomes(transfer)]
    const [outcome, had] = (await this.server.run(lua.taskVoid, all, [transfer, TRANSFER_PAGES_KEPT])) as [
      PageOutcome,
      number,
    ]
    if (had === 1) await this.#tasks.deleteRest(id)
    return outcome
  }

  /** Returns what became of a task, as transfer-outcome.lua does: a late first part must write no entries for it. */
  async #outcomeOf(transfer: string): Promise<PageOutcome | undefined> {
    const known = await this.server.call((client) => client.zscore(this.#outcomes(transfer), `${transfer}:0`))
    return known === null ? undefined : Number(known) % 2 === 0 ? 'stored' : 'void'
  }

  /** Returns the key of the tasks whose outcome is remembered. */
  #outcomes(transfer: string): string {
    return this.keys.transfers({ transfer, number: 0 })
  }

  async #sealed(id: string, transfer: string): Promise<Sealed | undefined> {
    const found = await this.server.findTask(id)
    if (!found) return undefined
    const { queue, keys } = found
    const [hidden] = this.keys.movingTask(queue, id)
    const header = await this.server.call((client) => client.hgetall(hidden))
    if (header.transfer !== transfer || header.cursor !== undefined) return undefined
    return { id, queue, keys: [hidden, ...keys.slice(1)], header }
  }

  /** Reads what the parts after the first one need; null: there is no incomplete task. */
  async #about(hidden: string): Promise<typeof NO_ROWS | null> {
    const [createdAt, total] = await this.server.call((client) => client.hmget(hidden, 'createdAt', 'total'))
    return createdAt == null ? null : { createdAt: Number(createdAt), total: Number(total) }
  }

  async #rows({ keys, header }: Sealed, first: number): Promise<TaskPart> {
    const count = Math.min(TASK_PART_ROWS, Number(header.total) - first)
    if (count <= 0) return { ...EMPTY_PART, next: 'b0' }
    const indexes = Array.from({ length: count }, (_, i) => first + i)
    const [bytes, [created, ...values]] = await Promise.all([
      this.#records(keys, first, count),
      this.server.run(lua.taskReadEvents, keys, ['', ROW_TEXTS, ...indexes]) as Promise<Reply[]>,
    ])
    const read = indexes.map((index, i) => {
      const size = 1 + ROW_TEXTS.length
      const texts = values.slice(i * size + 1, (i + 1) * size) as (string | null)[]
      return readRow(index, readRecord(bytes, i * RECORD_BYTES, Number(created)), texts)
    })
    const lengths = read.map(({ args, source }) => (args?.length ?? 0) + (source?.length ?? 0))
    const rows = read.slice(0, countWithin(lengths, TASK_PART_LENGTH))
    return { ...EMPTY_PART, rows, next: `r${first + rows.length}` }
  }

  /** Finds the entries of rows with a place of their own, which are valid while their row is in the backlog in their run. */
  async #backlog({ keys, header }: Sealed, first: number): Promise<TaskPart> {
    for (let from = first; ; from += ENTRIES) {
      const entries = await this.server.call((client) => client.lrange(keys[4] as string, from, from + ENTRIES - 1))
      if (entries.length === 0) return { ...EMPTY_PART, next: 'f-1' }
      const own = entries.flatMap((entry) => readOwnEntry(entry) ?? [])
      const records = await Promise.all(own.map(({ index }) => this.#records(keys, index, 1)))
      const backlog = own.filter(({ run }, i) => {
        const record = readRecord(records[i] as Buffer, 0, Number(header.createdAt))
        return record.location === 'backlog' && record.status === 'enqueued' && record.run === run
      })
      if (backlog.length > 0) return { ...EMPTY_PART, backlog, next: `b${from + ENTRIES}` }
    }
  }

  async #file({ id, queue }: Sealed, after: number): Promise<TaskPart> {
    const key = this.keys.parts(queue, id)
    const fields = await this.server.call((client) => client.hkeys(key))
    const indexes = fields.filter((field) => field !== 'bytes').map(Number)
    const index = indexes.sort((a, b) => a - b).find((one) => one > after)
    if (index === undefined) return EMPTY_PART
    const bytes = await this.server.call((client) => client.hgetBuffer(key, String(index)))
    return { ...EMPTY_PART, files: bytes ? [{ index, bytes }] : [], next: `f${index}` }
  }

  #records(keys: readonly string[], first: number, count: number): Promise<Buffer> {
    const end = (first + count) * RECORD_BYTES - 1
    return this.server.call((client) => client.getrangeBuffer(keys[1] as string, first * RECORD_BYTES, end))
  }
}

/** Returns the arguments of task-put.lua after the header. */
function argumentsOf(
  id: string,
  { rows, backlog, files }: TaskPart,
  first: readonly string[],
  { createdAt, total }: typeof NO_ROWS,
): Argument[] {
  const retried = backlog.filter(({ text }) => text === null)
  const returned = backlog.filter(({ text }) => text !== null)
  const lists: (string | number)[][] = [
    [...first, ...rows.flatMap(writeFields)],
    [...rows.filter(({ location }) => location === 'new').map(newEntry), ...retried.map((one) => ownEntry(one, total))],
    returned.map((one) => ownEntry(one, total)),
    rows.flatMap(({ index, deferral }) => (deferral?.ends ? [deferral.ends, taskJid(id, index)] : [])),
  ]
  const rejected = rows.filter(({ status }) => isUnsuccessful(status))
  return [
    rows[0]?.index ?? '',
    Buffer.concat(rows.map((row) => writeRecord(row, createdAt))),
    ...lists.flatMap((list) => [list.length, ...list]),
    rejected.length,
    ...rejected.flatMap(({ index, status, code }) => [index, STATUS_NUMBER[status], code ?? '']),
    files.length,
    ...files.flatMap(({ index, bytes }) => [index, Buffer.from(bytes)]),
  ]
}
