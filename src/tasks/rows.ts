/** Checks rows, passes them through the client middleware, and stores them in chunks. */

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import type { Client } from '../client/client.ts'
import { checkReadable } from '../job/args.ts'
import { HighkiqError, invalidJob, invalidOption, isUnreachable } from '../job/errors.ts'
import { isIterable, isPromise, stringifyJson } from '../job/json.ts'
import { floatsOf, type Payload, rowTemplate, taskJid, writePayload } from '../job/payload.ts'
import type { AddAnswer, NewRow, Store, TaskRecord } from '../store/contract.ts'

/** A row before it is stored. A row with `rejected` is stored as rejected, without a job. */
export interface Row {
  args: unknown[]
  number?: number
  /** The row as it was read, for the report, if the handler gets something else. */
  source?: object
  rejected?: NewRow['rejected']
}

export type Rows = Iterable<Row | PromiseLike<Row>> | AsyncIterable<Row>

export type StoreOfTasks = Pick<AppPort, 'store' | 'now'>

/** A call is repeated for this long; then its error is thrown. */
const MAX_WAIT_MS = 60_000

/** Repeats a call while the store does not answer, for up to a minute. The call must be safe to repeat. */
export async function retryTransient<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + MAX_WAIT_MS
  for (let pause = 50; ; pause = Math.min(pause * 2, 2000)) {
    try {
      return await work()
    } catch (thrown) {
      if (!isUnreachable(thrown) || performance.now() + pause > end) throw thrown
    }
    await sleep(pause * (0.5 + Math.random() / 2))
  }
}

/** The most rows, and characters of arguments, that are stored in one step. */
const CHUNK_ROWS = 1000
const CHUNK_CHARACTERS = 1_000_000

interface RowTarget {
  task: string
  producer: string
  /** The members that all rows have in common. */
  payload: Payload
  /** Whether the task's template and the arguments give the whole payload. */
  fitsTemplate: boolean
  /** Whether the task's rows come from a file. A row without a number then stores its whole payload. */
  ofFile?: boolean
  /** The number of rows in one job. */
  rowsPerJob?: number
  /** The number of rows that the producer added before. */
  cursor?: number
  /** The index of the first row, if no other producer adds rows. */
  first?: number
}

export class RowWriter {
  readonly #app: AppPort
  readonly #target: RowTarget
  /** The payload without arguments and jid. A row with the same text needs only its arguments stored. */
  readonly #common: string
  /** The rows of a chunk: a multiple of `rowsPerJob`, so that no job spans two chunks. */
  readonly #most: number
  #cursor: number
  #chunk: NewRow[] = []
  /** The last row of the chunk. */
  #last: Row | undefined
  #characters = 0

  constructor(app: AppPort, target: RowTarget) {
    this.#app = app
    this.#target = target
    this.#cursor = target.cursor ?? 0
    const { rowsPerJob = 1 } = target
    this.#most = Math.max(CHUNK_ROWS - (CHUNK_ROWS % rowsPerJob), rowsPerJob)
    this.#common = this.#textWithout(target.payload, ['args', 'jid'])
  }

  /** The number of rows that the producer has added. */
  get cursor(): number {
    return this.#cursor
  }

  /** Whether the chunk is full and `flush` is due. */
  get isFull(): boolean {
    return this.#chunk.length >= this.#most || this.#characters >= CHUNK_CHARACTERS
  }

  /** Returns a promise only when client middleware runs. @throws INVALID_ARGS, ARGS_TOO_LARGE, INVALID_JOB */
  add(row: Row): Promise<void> | undefined {
    const stored = this.#stored(row)
    if (stored instanceof Promise) return stored.then((one) => this.#keep(row, one))
    this.#keep(row, stored)
    return undefined
  }

  #keep(row: Row, stored: NewRow): void {
    this.#app.client.writer.checkSize(this.#target.payload.class, stored.args)
    this.#last = row
    this.#chunk.push(stored)
    this.#characters += stored.args.length + (stored.source?.length ?? 0)
  }

  /** Stores the rows added since the last call. @throws TASK_ENDED, TASK_TAKEN_OVER, UNKNOWN_TASK */
  async flush(): Promise<void> {
    const { store, now } = this.#app
    const { task, producer } = this.#target
    while (this.#chunk.length > 0) {
      const chunk = this.#chunk
      const last = this.#last && fingerprintOf(this.#last)
      const answer = await retryTransient(() => store.tasks.addRows(task, producer, this.#cursor, chunk, now(), last))
      const ahead = answer.ok || answer.reason !== 'gap' ? 0 : answer.cursor - this.#cursor
      if (ahead > 0 && ahead <= chunk.length) {
        // An earlier attempt of this producer stored these rows in chunks of another size.
        this.#cursor += ahead
        this.#chunk = chunk.slice(ahead)
        continue
      }
      refuse(answer, task)
      this.#cursor += chunk.length
      this.#chunk = []
    }
    this.#characters = 0
  }

  #stored(row: Row): NewRow | Promise<NewRow> {
    const { args: given, number, source, rejected } = row
    const { client } = this.#app
    const { payload, task, first, ofFile } = this.#target
    const fitsTemplate = this.#target.fitsTemplate && !(ofFile && number === undefined)
    const isList = this.#target.payload.hk_list === true
    if (payload.encrypt && (isList || number !== undefined)) throw notEncrypted(payload.class)
    const args = isList ? asOneValue(given) : given
    const about = {
      ...(number === undefined ? {} : { number }),
      ...(source === undefined ? {} : { source: stringifyJson(source) }),
    }
    if (rejected) return { args: this.#textOf(args), ...about, rejected }
    // With several producers only the store knows the row's index.
    const jid = first === undefined ? `${task}ffffffff` : taskJid(task, first + this.#cursor + this.#chunk.length)
    const whole = { ...payload, args, jid }
    const write = (after: Payload | null) => this.#written(after, args, fitsTemplate, about)
    return client.isPlain ? write(whole) : client.pass(whole).then(write)
  }

  /** `after` is the payload that client middleware returned; null when it dropped the row. */
  #written(
    after: Payload | null,
    args: unknown[],
    fitsTemplate: boolean,
    about: Pick<NewRow, 'number' | 'source'>,
  ): NewRow {
    const { client, now } = this.#app
    const { payload } = this.#target
    if (!after) {
      const messages = [{ at: now(), code: 'filtered', params: {} }]
      const rejected = { status: 'cancelled' as const, code: 'filtered', messages }
      const bare = this.#textOf(args)
      if (fitsTemplate) return { args: bare, ...about, rejected }
      return { args: this.#textWithout({ ...payload, args }, ['jid']), ...about, job: payload.class, rejected }
    }
    client.writer.check(after)
    const sealed = client.writer.sealed(after)
    if (after.queue !== payload.queue) {
      throw invalidJob(
        `client middleware sends a row to queue ${JSON.stringify(after.queue)}: a task has one queue (${payload.queue}); name it in the task's options`,
      )
    }
    // Middleware may have changed the payload in place.
    if (fitsTemplate && (client.isPlain || this.#textWithout(after, ['args', 'jid']) === this.#common)) {
      return { args: this.#textOf(sealed.args), ...about }
    }
    const job = fitsTemplate && after.class === payload.class ? {} : { job: after.class }
    const listed = payload.hk_list ? { ...sealed, args: [sealed.args] } : sealed
    return { args: this.#textWithout(listed, ['jid']), ...about, ...job }
  }

  #textOf(args: unknown[]): string {
    const { payload } = this.#target
    const text = stringifyJson(args, floatsOf(this.#app.client.wire))
    checkReadableArgs(text, payload.class, payload.hk_list === true)
    return text
  }

  #textWithout(payload: Payload, fields: string[]): string {
    const text = writePayload(without(payload, fields), this.#app.client.wire)
    checkReadable(text, payload.class)
    return text
  }
}

/** Returns the arguments as one value for a list: the only argument, or the list of all of them. */
export function asOneValue(args: unknown[]): unknown[] {
  return args.length === 1 ? args : [args]
}

/**
 * Returns an iterable that makes a row of each list of arguments. @throws INVALID_JOB; the iterable also TOO_MANY_ROWS, after
 * `maxRows` rows
 */
export function asRows(all: Iterable<unknown[]> | AsyncIterable<unknown[]>, maxRows = Number.POSITIVE_INFINITY): Rows {
  if (!isIterable(all))
    throw invalidJob('rows must be an array or another iterable, one list of arguments for each job')
  let n = 0
  const rowOf = (args: unknown): Row => {
    n++
    if (!Array.isArray(args)) {
      const is = args === null ? 'null' : typeof args === 'object' ? 'an object' : `a ${typeof args}`
      throw invalidJob(`row ${n} is ${is}: each row is the list of a job's arguments, so write [row]`)
    }
    if (n > maxRows)
      throw new HighkiqError('TOO_MANY_ROWS', `there are more than ${maxRows} rows (maxRows)`, { row: n, maxRows })
    return { args }
  }
  if (Symbol.asyncIterator in all) {
    return (async function* () {
      for await (const args of all) yield rowOf(args)
    })()
  }
  return (function* () {
    for (const args of all) yield isPromise(args) ? args.then(rowOf) : rowOf(args)
  })()
}

function notEncrypted(job: string): HighkiqError {
  return invalidOption(
    `${job}: encrypt can't be combined with rowsPerJob or with rows of a file, because reports show them: use hq.tasks.create with a row for each job`,
  )
}

/** Returns the template that the store completes with the arguments and jid of each row. */
export function templateOf(client: Client, payload: Payload): string {
  const template = rowTemplate(without(payload, ['args', 'jid']), client.wire)
  checkReadable(template, payload.class)
  return template
}

/** Checks that workers can read a row's arguments in its payload. @throws INVALID_ARGS */
export function checkReadableArgs(text: string, job: string, isList: boolean): void {
  checkReadable(text, job, { name: 'args', around: isList ? 2 : 1 })
}

/** Returns the payload without these fields and `enqueued_at`, which the store sets when it queues the row. */
function without(payload: Payload, fields: string[]): Payload {
  const rest = Object.entries(payload).filter(([field]) => !fields.includes(field) && field !== 'enqueued_at')
  return Object.fromEntries(rest) as unknown as Payload
}

/** @throws TASK_ENDED, TASK_TAKEN_OVER, UNKNOWN_TASK */
export function refuse(answer: AddAnswer, id: string): void {
  if (answer.ok) return
  if (answer.reason === 'taken-over' || answer.reason === 'gap') {
    const message = `this producer may no longer add rows to task ${id}: another producer took over, the lease of this one ran out, or its row is in a later run. If the task is interrupted, resume it`
    throw new HighkiqError('TASK_TAKEN_OVER', message)
  }
  if (answer.reason === 'unknown') throw unknownTask(id)
  throw new HighkiqError('TASK_ENDED', `task ${id} has ended: nothing can be added`)
}

/** @throws UNKNOWN_TASK */
export async function findTask({ store }: { readonly store: Pick<Store, 'tasks'> }, id: string): Promise<TaskRecord> {
  const record = await store.tasks.find(id)
  if (!record) throw unknownTask(id)
  return record
}

export function unknownTask(id: string): HighkiqError {
  return new HighkiqError('UNKNOWN_TASK', `no task ${id}: it was deleted, or the id is wrong`)
}

/**
 * Returns a hash of the raw values of a row of a file, by which a resumed import recognises the row. Undefined for a
 * row that does not come from a file.
 */
export function fingerprintOf({ number, source, args }: Row): string | undefined {
  if (number === undefined) return undefined
  return createHash('sha256')
    .update(stringifyJson(source ?? args[0]))
    .digest('hex')
    .slice(0, 32)
}
