import { checkArgs } from '../job/args.ts'
import { Chain } from '../job/chain.ts'
import { checkQueueName, type JobDefinition, type JobOptions } from '../job/definition.ts'
import { HighkiqError, PushError } from '../job/errors.ts'
import { stringifyJson } from '../job/json.ts'
import type { Logger } from '../job/logger.ts'
import { editPayload, newJid, type Payload, readPayload, timeOf, type Wire, writePayload } from '../job/payload.ts'
import type { PushItem, Store } from '../store/contract.ts'

/** A push as the caller says it: any class, also one that only another program knows. */
export interface PushRequest {
  class: string
  args: unknown[]
  queue?: string
  /** Seconds since the epoch; in the past or absent: now. */
  at?: number
  jid?: string
  retry?: boolean | number
  tags?: string[]
  [field: string]: unknown
}

export interface ClientOptions {
  store: () => Store
  /** Knows the options of a job's definition; undefined for a class of another program. */
  definition: (name: string) => JobDefinition | undefined
  defaults: JobOptions
  wire: Wire
  now: () => number
  log: Logger
  strictArgs: 'raise' | 'warn' | false
  maxArgsBytes: { warn: number; refuse: number }
}

/** Jobs of one bulk push that are stored in one step. */
export const BULK = 1000

interface Batch {
  items: PushItem[]
  stored: Promise<void>
}

/**
 * Pushing: a request becomes a payload, passes the client middleware, is checked, and is stored together with whatever
 * else is pushed in the same turn of the event loop.
 */
export class Client {
  /** What middleware answers is the payload that is pushed; a falsy answer stops the push. */
  readonly chain = new Chain<Payload, Payload | null>()
  readonly #options: ClientOptions
  #batch: Batch | undefined

  constructor(options: ClientOptions) {
    this.#options = options
  }

  get wire(): Wire {
    return this.#options.wire
  }

  /**
   * The job's id once it is stored; null when middleware stopped it.
   * @throws INVALID_JOB, INVALID_ARGS, ARGS_TOO_LARGE before anything is sent; PushError when it could not be stored
   */
  async push(request: PushRequest): Promise<string | null> {
    const item = await this.prepare(request)
    if (!item) return null
    try {
      await this.#store(item.destination)
    } catch (thrown) {
      throw pushError(thrown, [item.jid])
    }
    return item.jid
  }

  /**
   * Pushes many, a thousand in a step, and reads no further ahead than that.
   * @returns one id for each request, null where middleware stopped it
   */
  async pushBulk(
    requests: Iterable<PushRequest> | AsyncIterable<PushRequest>,
    batchSize = BULK,
  ): Promise<(string | null)[]> {
    if (!(Number.isInteger(batchSize) && batchSize >= 1 && batchSize <= BULK)) {
      throw new HighkiqError('INVALID_OPTION', `batchSize is a whole number from 1 to ${BULK}`)
    }
    const jids: (string | null)[] = []
    let items: PushItem[] = []
    const flush = async () => {
      const slice = items
      items = []
      try {
        await this.#options.store().push(slice, this.#options.now())
      } catch (thrown) {
        throw pushError(thrown, jids.filter((jid) => jid !== null).slice(-slice.length))
      }
    }
    for await (const request of requests) {
      const item = await this.prepare(request)
      jids.push(item?.jid ?? null)
      if (item) items.push(item.destination)
      if (items.length >= batchSize) await flush()
    }
    if (items.length > 0) await flush()
    return jids
  }

  /** The finished job and where it goes, not yet stored; null when middleware stopped it. */
  async prepare(request: PushRequest): Promise<{ jid: string; destination: PushItem } | null> {
    const payload = await this.pass(this.normalise(request))
    if (!payload) return null
    this.check(payload)
    const now = this.#options.now()
    const { at, ...job } = payload as Payload & { at?: number }
    if (typeof at === 'number' && at * 1000 > now) {
      delete job.enqueued_at
      const text = this.#write(job as Payload)
      return { jid: payload.jid, destination: { to: 'schedule', text, score: at } }
    }
    job.enqueued_at = timeOf(now, this.wire)
    const text = this.#write(job as Payload)
    return { jid: payload.jid, destination: { to: 'queue', queue: payload.queue, text, end: 'back' } }
  }

  /** A payload with everything that a job must have. @throws INVALID_JOB */
  normalise(request: PushRequest): Payload {
    const { class: name, args, queue, jid, at, ...rest } = request
    if (typeof name !== 'string' || name === '') throw invalid('a job needs a class: the name it was defined under')
    if (!Array.isArray(args)) throw invalid(`${name}: args must be an array, one element for each argument`)
    if (at !== undefined && !(typeof at === 'number' && Number.isFinite(at))) {
      throw invalid(`${name}: at must be a number, in seconds since the epoch`)
    }
    if (jid !== undefined && (typeof jid !== 'string' || jid === '')) throw invalid(`${name}: jid must be a text`)
    if (rest.tags !== undefined && !Array.isArray(rest.tags)) throw invalid(`${name}: tags must be an array`)
    if (Number(rest.retry_for ?? 0) > 1e9) throw invalid(`${name}: retry_for is at most 1,000,000,000 seconds`)
    const defined = { ...this.#options.defaults, ...this.#options.definition(name)?.options }
    const payload: Payload = {
      class: name,
      args,
      queue: queue ?? defined.queue ?? 'default',
      jid: jid ?? newJid(),
      retry: defined.retry ?? true,
      created_at: timeOf(this.#options.now(), this.wire),
    }
    if (defined.backtrace !== undefined) payload.backtrace = defined.backtrace
    if (defined.dead !== undefined) payload.dead = defined.dead
    if (defined.tags !== undefined) payload.tags = defined.tags
    if (defined.retryFor !== undefined) payload.retry_for = defined.retryFor
    Object.assign(payload, rest)
    checkQueueName(payload.queue)
    if (at !== undefined) payload.at = at
    return payload
  }

  /** @throws INVALID_ARGS */
  check(payload: Pick<Payload, 'class' | 'args' | 'jid' | 'wrapped'>): void {
    const { strictArgs, log } = this.#options
    if (!strictArgs) return
    try {
      checkArgs(payload.args, payload.wrapped ?? payload.class)
    } catch (thrown) {
      if (strictArgs === 'raise') throw thrown
      log.warn({ jid: payload.jid }, (thrown as Error).message)
    }
  }

  /**
   * A job that comes out of a set: through the middleware once more, as at its first push.
   * @returns its new text and queue; null when middleware stopped it; undefined when the text is no job
   */
  async promote(text: string): Promise<{ text: string; queue: string } | null | undefined> {
    const before = readPayload(text)
    if (!before) return undefined
    const enqueued_at = timeOf(this.#options.now(), this.wire)
    const queue = typeof before.queue === 'string' && before.queue !== '' ? before.queue : 'default'
    if (this.chain.size === 0) return { text: editPayload(text, { enqueued_at, at: undefined }, this.wire), queue }
    const given = new Map(Object.entries(before).map(([field, value]) => [field, stringifyJson(value)]))
    const after = await this.pass(before)
    if (!after) return null
    this.check(after)
    const ours: Partial<Payload> = { enqueued_at, at: undefined }
    // Without a prototype, so that a field may have any name.
    const changes: Partial<Payload> = Object.assign(Object.create(null), ours)
    for (const [field, value] of Object.entries(after)) {
      if (given.get(field) !== stringifyJson(value)) changes[field] = value
    }
    for (const field of given.keys()) if (!Object.hasOwn(after, field)) changes[field] = undefined
    // Not for middleware to say.
    Object.assign(changes, ours)
    return { text: editPayload(text, changes, this.wire), queue: after.queue ?? queue }
  }

  /** Through the client middleware; null when it was stopped there. @throws INVALID_JOB when its answer is no job */
  async pass(payload: Payload): Promise<Payload | null> {
    if (this.chain.size === 0) return payload
    const after = await this.chain.run(payload, async () => payload)
    if (!after) return null
    const { class: name, args, queue = 'default' } = after
    if (typeof name !== 'string' || !Array.isArray(args)) {
      throw invalid(`${payload.class}: client middleware answered something that is no job: return what next() gives`)
    }
    checkQueueName(queue)
    return after
  }

  #write(payload: Payload): string {
    const text = writePayload(payload, this.wire)
    this.weigh(payload.class, text)
    return text
  }

  /** Warns of what is large. @throws ARGS_TOO_LARGE */
  weigh(job: string, text: string): void {
    const { maxArgsBytes, log } = this.#options
    if (text.length <= maxArgsBytes.warn) return
    const bytes = Buffer.byteLength(text)
    if (bytes > maxArgsBytes.refuse) {
      throw new HighkiqError(
        'ARGS_TOO_LARGE',
        `${job}: a job of ${bytes.toLocaleString('en')} bytes is too large (at most ${maxArgsBytes.refuse.toLocaleString('en')}): store the data elsewhere and pass its id`,
      )
    }
    log.warn({ class: job, bytes }, 'large job: store the data elsewhere and pass its id')
  }

  /** Everything that is pushed in one turn of the event loop is stored in one call, or in one for each thousand. */
  #store(item: PushItem): Promise<void> {
    let batch = this.#batch
    // A store may store more than a thousand in several steps, and of its error nobody could tell whom it concerns.
    if (!batch || batch.items.length >= BULK) {
      const items: PushItem[] = []
      const stored = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        if (this.#batch?.items === items) this.#batch = undefined
        return this.#options.store().push(items, this.#options.now())
      })
      batch = { items, stored }
      this.#batch = batch
    }
    batch.items.push(item)
    return batch.stored
  }
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_JOB', message)
}

/** The store does not know the jobs' ids. */
function pushError(thrown: unknown, jids: string[]): unknown {
  if (!(thrown instanceof PushError)) return thrown
  return new PushError(thrown.message, jids, thrown.maybePushed, { cause: thrown.cause })
}
