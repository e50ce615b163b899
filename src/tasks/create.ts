/** Adding rows to a task: each is checked, passes the client middleware, and is stored with others in one step. */

import type { Client } from '../client/client.ts'
import type { Job } from '../client/job.ts'
import { HighkiqError } from '../job/errors.ts'
import { stringifyJson } from '../job/json.ts'
import { newTaskId, type Payload, rowTemplate, taskJid, writePayload } from '../job/payload.ts'
import type { AddAnswer, NewRow, Store, TaskSpec } from '../store/contract.ts'
import { insist } from './insist.ts'
import { Submitter } from './submitter.ts'
import { Task } from './task.ts'

export interface CreateOptions {
  /** Shown to people; default the job's name. */
  name?: string
  /** Default the job's queue. */
  queue?: string
  /** Most rows in the queue and in work at a time; default max(100, twice the slots that serve the queue). */
  window?: number
  /** Which rows' arguments are kept after they ended; default `rejected`. */
  keepParams?: 'rejected' | 'all' | 'none'
  /** Hears of the task as soon as its first rows are stored, while others are still being read. */
  onStart?: (task: Task) => void
}

/** A row before it is stored. `rejected`: it is refused at once, and no job is made of it. */
export interface Row {
  args: unknown[]
  number?: number
  /** The row as it came, for the report, when that is not what the handler gets. */
  source?: object
  rejected?: NewRow['rejected']
}

export interface TaskHost {
  client: Client
  store: () => Store
  now: () => number
}

/** Rows, and characters of their arguments, that are stored in one step. */
const CHUNK_ROWS = 1000
const CHUNK_CHARACTERS = 1_000_000
const WINDOW = 100

/**
 * @returns the task once all rows are stored
 * @throws INVALID_ARGS and what `rows` throws: the rows before it stay, and the task is `interrupted`
 */
export async function createTask(
  host: TaskHost,
  job: Job<never[]>,
  rows: Iterable<Row> | AsyncIterable<Row>,
  options: CreateOptions & { meta?: () => object } = {},
): Promise<Task> {
  const submission = new Submission(host, job, options)
  return submission.run(rows)
}

class Submission {
  readonly #host: TaskHost
  readonly #options: CreateOptions & { meta?: () => object }
  readonly #id = newTaskId()
  readonly #submitter: Submitter
  readonly #payload: Payload
  /** What a row's payload must be, beside its arguments, to be expressed by the template. */
  readonly #common: string
  readonly #template: string
  #added = 0
  #chunk: NewRow[] = []
  #characters = 0

  constructor(host: TaskHost, job: Job<never[]>, options: CreateOptions & { meta?: () => object }) {
    this.#host = host
    this.#options = options
    this.#submitter = new Submitter(host.store)
    const { queue } = options
    const said = { ...job.said, ...(queue === undefined ? {} : { queue }) }
    this.#payload = host.client.normalise({ ...said, class: job.name, args: [] })
    this.#payload.hk_task = this.#id
    this.#common = this.#textWithout(this.#payload, ['args', 'jid'])
    this.#template = rowTemplate(without(this.#payload, ['args', 'jid']), host.client.wire)
  }

  async run(rows: Iterable<Row> | AsyncIterable<Row>): Promise<Task> {
    const { store, now } = this.#host
    const task = new Task(store(), now, this.#id)
    let created = false
    const flush = async () => {
      const first = !created
      if (first) await this.#create()
      created = true
      await this.#flush()
      if (first) this.#options.onStart?.(task)
    }
    try {
      for await (const row of rows) {
        await this.#take(row)
        if (this.#chunk.length >= CHUNK_ROWS || this.#characters >= CHUNK_CHARACTERS) await flush()
      }
      await flush()
      refuse(await insist(() => store().endAdding(this.#id, this.#submitter.token, now())), this.#id)
      await this.#submitter.leave()
      return task
    } catch (thrown) {
      // Nothing stored yet: no task remains. Else it is shown as what it is, with every row before the error.
      if (created) await this.#interrupt()
      else await this.#submitter.leave()
      if (!created) throw thrown
      throw withTask(thrown, this.#id)
    }
  }

  /** The error that led here is the one to tell: what fails now is left to it. */
  async #interrupt(): Promise<void> {
    const { store, now } = this.#host
    await this.#flush().catch(() => {})
    try {
      await store().endAdding(this.#id, this.#submitter.token, now(), true)
      await this.#submitter.leave()
    } catch {
      // Left to its lease: when that ends, whoever claims it interrupts the task.
      this.#submitter.abandon()
    }
  }

  async #create(): Promise<void> {
    const { store, now } = this.#host
    const { name, window, keepParams = 'rejected', meta } = this.#options
    const spec: TaskSpec = {
      id: this.#id,
      name: name ?? this.#payload.class,
      job: this.#payload.class,
      queue: this.#payload.queue,
      template: this.#template,
      window: window ?? (await this.#defaultWindow()),
      keepParams,
      meta: JSON.stringify(meta?.() ?? {}),
      createdAt: now(),
      adder: this.#submitter.token,
    }
    if (!(Number.isInteger(spec.window) && spec.window > 0)) {
      throw new HighkiqError('INVALID_OPTION', 'window is a whole number above 0')
    }
    await insist(() => this.#submitter.join(spec.queue))
    await insist(() => store().createTask(spec))
  }

  /** Rows that wait cost only their arguments; a queue that never runs dry needs twice its slots. */
  async #defaultWindow(): Promise<number> {
    let slots = 0
    for (const process of await this.#host.store().processes()) {
      const { queues } = JSON.parse(process.info) as { queues?: string[] }
      if (queues?.includes(this.#payload.queue)) slots += process.concurrency
    }
    return Math.max(WINDOW, 2 * slots)
  }

  async #take(row: Row): Promise<void> {
    const stored = await this.#stored(row)
    this.#host.client.weigh(this.#payload.class, stored.args)
    this.#chunk.push(stored)
    this.#characters += stored.args.length
  }

  async #stored({ args, number, source, rejected }: Row): Promise<NewRow> {
    const { client, now } = this.#host
    const about = {
      ...(number === undefined ? {} : { number }),
      ...(source === undefined ? {} : { source: stringifyJson(source) }),
    }
    if (rejected) return { args: stringifyJson(args), ...about, rejected }
    const jid = taskJid(this.#id, this.#added + this.#chunk.length)
    if (client.chain.size === 0) {
      client.check({ class: this.#payload.class, args, jid })
      return { args: stringifyJson(args), ...about }
    }
    const after = await client.pass({ ...this.#payload, args, jid })
    if (!after) {
      const messages = [{ at: now(), code: 'stopped', params: {} }]
      return { args: stringifyJson(args), ...about, rejected: { status: 'cancelled', code: 'stopped', messages } }
    }
    client.check(after)
    if (after.queue !== this.#payload.queue) {
      throw new HighkiqError(
        'INVALID_JOB',
        `client middleware sends a row to queue ${JSON.stringify(after.queue)}: a task has one queue (${this.#payload.queue}); name it in the task's options`,
      )
    }
    const same = this.#textWithout(after, ['args', 'jid']) === this.#common
    return { args: same ? stringifyJson(after.args) : this.#textWithout(after, ['jid']), ...about }
  }

  async #flush(): Promise<void> {
    const chunk = this.#chunk
    if (chunk.length === 0) return
    const { store, now } = this.#host
    const answer = await insist(() => store().addRows(this.#id, this.#submitter.token, this.#added, chunk, now()))
    refuse(answer, this.#id)
    this.#added += chunk.length
    this.#chunk = []
    this.#characters = 0
  }

  #textWithout(payload: Payload, fields: string[]): string {
    return writePayload(without(payload, fields), this.#host.client.wire)
  }
}

/** The store says when a row comes into its queue. */
function without(payload: Payload, fields: string[]): Payload {
  const rest = Object.entries(payload).filter(([field]) => !fields.includes(field) && field !== 'enqueued_at')
  return Object.fromEntries(rest) as unknown as Payload
}

function refuse(answer: AddAnswer, id: string): void {
  if (answer.ok) return
  if (answer.reason === 'taken-over' || answer.reason === 'gap') {
    throw new HighkiqError('TASK_TAKEN_OVER', `another submitter went on with task ${id}: this one must stop`)
  }
  if (answer.reason === 'unknown')
    throw new HighkiqError('UNKNOWN_TASK', `task ${id} was deleted while rows were added`)
  throw new HighkiqError('TASK_ENDED', `task ${id} has ended: nothing can be added`)
}

/** Tells which task holds the rows that were stored before the error. */
function withTask(thrown: unknown, id: string): unknown {
  if (!(thrown instanceof HighkiqError)) return thrown
  const message = `${thrown.message} (the rows before it are in task ${id}, and will run)`
  return new HighkiqError(thrown.code, message, { ...thrown.details, task: id }, { cause: thrown })
}
