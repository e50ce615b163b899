/** Rows on their way into a task: each is checked, passes the client middleware, and is stored with others in one step. */

import { createHash } from 'node:crypto'
import type { Client } from '../client/client.ts'
import type { JobOptions } from '../job/definition.ts'
import { HighkiqError } from '../job/errors.ts'
import { stringifyJson } from '../job/json.ts'
import { floatsOf, type Payload, rowTemplate, taskJid, writePayload } from '../job/payload.ts'
import { checkReadable } from '../job/readable.ts'
import type { AddAnswer, NewRow, Store } from '../store/contract.ts'
import { retryTransient } from './retry-transient.ts'

/** A row before it is stored. `rejected`: it is refused at once, and no job is made of it. */
export interface Row {
  args: unknown[]
  number?: number
  /** The row as it came, for the report, when that is not what the handler gets. */
  source?: object
  rejected?: NewRow['rejected']
}

export type Rows = Iterable<Row> | AsyncIterable<Row>

export interface StoreOfTasks {
  store: () => Store
  now: () => number
}

export interface TaskHost extends StoreOfTasks {
  client: Client
  /** What a job of this name says of itself here, where it is defined. */
  optionsOf: (job: string) => Pick<JobOptions, 'validate'>
}

/** Rows, and characters of their arguments, that are stored in one step. */
const CHUNK_ROWS = 1000
const CHUNK_CHARACTERS = 1_000_000

interface RowTarget {
  task: string
  producer: string
  /** What all rows have in common. */
  payload: Payload
  /** They are what the task's template makes of their arguments. */
  fitsTemplate: boolean
  /** The task's rows come from a file: one that does not says itself what it is. */
  ofFile?: boolean
  /** How many of them are one job. */
  rowsPerJob?: number
  /** Rows that the producer has added before. */
  cursor?: number
  /** Index of its first row, where nobody else adds. */
  first?: number
}

export class RowWriter {
  readonly #host: TaskHost
  readonly #target: RowTarget
  /** What a row's payload must be, beside its arguments, to be what the template makes. */
  readonly #common: string
  /** A multiple of what goes into one job, so that no job is begun at the end of a chunk. */
  readonly #most: number
  #cursor: number
  #chunk: NewRow[] = []
  /** The last row of the chunk. */
  #last: Row | undefined
  #characters = 0

  constructor(host: TaskHost, target: RowTarget) {
    this.#host = host
    this.#target = target
    this.#cursor = target.cursor ?? 0
    const { rowsPerJob = 1 } = target
    this.#most = Math.max(CHUNK_ROWS - (CHUNK_ROWS % rowsPerJob), rowsPerJob)
    this.#common = this.#textWithout(target.payload, ['args', 'jid'])
  }

  /** Rows that the producer has added. */
  get cursor(): number {
    return this.#cursor
  }

  /** A chunk is full: time to `flush`. */
  get isFull(): boolean {
    return this.#chunk.length >= this.#most || this.#characters >= CHUNK_CHARACTERS
  }

  /** @throws INVALID_ARGS, ARGS_TOO_LARGE, INVALID_JOB */
  async add(row: Row): Promise<void> {
    const stored = await this.#stored(row)
    this.#last = row
    this.#host.client.weigh(this.#target.payload.class, stored.args)
    this.#chunk.push(stored)
    this.#characters += stored.args.length + (stored.source?.length ?? 0)
  }

  /** Stores what was taken. @throws TASK_ENDED, TASK_TAKEN_OVER, UNKNOWN_TASK */
  async flush(): Promise<void> {
    const { store, now } = this.#host
    const { task, producer } = this.#target
    while (this.#chunk.length > 0) {
      const chunk = this.#chunk
      const last = this.#last && fingerprintOf(this.#last)
      const answer = await retryTransient(() => store().tasks.addRows(task, producer, this.#cursor, chunk, now(), last))
      const ahead = answer.ok || answer.reason !== 'gap' ? 0 : answer.cursor - this.#cursor
      if (ahead > 0 && ahead <= chunk.length) {
        // An earlier attempt of this producer had cut its chunks elsewhere.
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

  async #stored({ args: given, number, source, rejected }: Row): Promise<NewRow> {
    const { client, now } = this.#host
    const { payload, task, first, ofFile } = this.#target
    const fitsTemplate = this.#target.fitsTemplate && !(ofFile && number === undefined)
    const isList = this.#target.payload.hk_list === true
    const args = isList ? asOneValue(given) : given
    const about = {
      ...(number === undefined ? {} : { number }),
      ...(source === undefined ? {} : { source: stringifyJson(source) }),
    }
    if (rejected) return { args: this.#textOf(args), ...about, rejected }
    // Where others add too, only the store knows the row's index.
    const jid = first === undefined ? `${task}ffffffff` : taskJid(task, first + this.#cursor + this.#chunk.length)
    const whole = { ...payload, args, jid }
    const after = client.isPlain ? whole : await client.pass(whole)
    if (!after) {
      const messages = [{ at: now(), code: 'filtered', params: {} }]
      const rejected = { status: 'cancelled' as const, code: 'filtered', messages }
      const bare = this.#textOf(args)
      if (fitsTemplate) return { args: bare, ...about, rejected }
      return { args: this.#textWithout({ ...payload, args }, ['jid']), ...about, job: payload.class, rejected }
    }
    client.check(after)
    if (after.queue !== payload.queue) {
      throw new HighkiqError(
        'INVALID_JOB',
        `client middleware sends a row to queue ${JSON.stringify(after.queue)}: a task has one queue (${payload.queue}); name it in the task's options`,
      )
    }
    // What middleware was given it may have changed in place.
    if (fitsTemplate && (client.isPlain || this.#textWithout(after, ['args', 'jid']) === this.#common)) {
      return { args: this.#textOf(after.args), ...about }
    }
    const job = fitsTemplate && after.class === payload.class ? {} : { job: after.class }
    const listed = isList ? { ...after, args: [after.args] } : after
    return { args: this.#textWithout(listed, ['jid']), ...about, ...job }
  }

  #textOf(args: unknown[]): string {
    const { payload } = this.#target
    const text = stringifyJson(args, floatsOf(this.#host.client.wire))
    checkReadableArgs(text, payload.class, payload.hk_list === true)
    return text
  }

  #textWithout(payload: Payload, fields: string[]): string {
    const text = writePayload(without(payload, fields), this.#host.client.wire)
    checkReadable(text, payload.class)
    return text
  }
}

/** A row of a list is one value: its one argument, else the list of its arguments. */
export function asOneValue(args: unknown[]): unknown[] {
  return args.length === 1 ? args : [args]
}

/** Lists of arguments as rows. @throws INVALID_JOB; TOO_MANY_ROWS behind the last one that may be */
export async function* asRows(
  all: Iterable<unknown[]> | AsyncIterable<unknown[]>,
  maxRows = Number.POSITIVE_INFINITY,
): AsyncGenerator<Row> {
  if (!isIterable(all)) throw invalid('rows must be an array or another iterable, one list of arguments for each job')
  let n = 0
  for await (const args of all) {
    n++
    if (!Array.isArray(args)) {
      const is = args === null ? 'null' : typeof args === 'object' ? 'an object' : `a ${typeof args}`
      throw invalid(`row ${n} is ${is}: each row is the list of a job's arguments, so write [row]`)
    }
    if (n > maxRows)
      throw new HighkiqError('TOO_MANY_ROWS', `there are more than ${maxRows} rows (maxRows)`, { row: n, maxRows })
    yield { args }
  }
}

export function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_JOB', message)
}

/** What a task's rows have in common, for the store. */
export function templateOf(client: Client, payload: Payload): string {
  const template = rowTemplate(without(payload, ['args', 'jid']), client.wire)
  checkReadable(template, payload.class)
  return template
}

/** Arguments of a row, as the payload of its job will have them. @throws INVALID_ARGS */
export function checkReadableArgs(text: string, job: string, isList: boolean): void {
  checkReadable(text, job, { name: 'args', around: isList ? 2 : 1 })
}

/** The store says when a row comes into its queue. */
function without(payload: Payload, fields: string[]): Payload {
  const rest = Object.entries(payload).filter(([field]) => !fields.includes(field) && field !== 'enqueued_at')
  return Object.fromEntries(rest) as unknown as Payload
}

/** @throws TASK_ENDED, TASK_TAKEN_OVER, UNKNOWN_TASK */
export function refuse(answer: AddAnswer, id: string): void {
  if (answer.ok) return
  if (answer.reason === 'taken-over' || answer.reason === 'gap') {
    throw new HighkiqError('TASK_TAKEN_OVER', `another submitter went on with task ${id}: this one must stop`)
  }
  if (answer.reason === 'unknown') throw unknownTask(id)
  throw new HighkiqError('TASK_ENDED', `task ${id} has ended: nothing can be added`)
}

export function unknownTask(id: string): HighkiqError {
  return new HighkiqError('UNKNOWN_TASK', `no task ${id}: it was deleted, or the id is wrong`)
}

/**
 * Returns a hash that tells a row of a file from the others, made of its raw values. Undefined for a row that is of no
 * file.
 */
export function fingerprintOf({ number, source, args }: Row): string | undefined {
  if (number === undefined) return undefined
  return createHash('sha256')
    .update(stringifyJson(source ?? args[0]))
    .digest('hex')
    .slice(0, 32)
}
