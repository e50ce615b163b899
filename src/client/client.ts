import { checkArgs } from '../job/args.ts'
import { Chain, type Middleware } from '../job/chain.ts'
import { checkQueueName } from '../job/definition.ts'
import { HighkiqError, PushError } from '../job/errors.ts'
import { stringifyJson } from '../job/json.ts'
import type { Logger } from '../job/logger.ts'
import { editPayload, type Payload, readPayload, timeOf, type Wire, writePayload } from '../job/payload.ts'
import { checkReadable } from '../job/readable.ts'
import type { PushItem, Store } from '../store/contract.ts'
import { type Bulk, type BulkOptions, type BulkPlan, planBulk, type Rows } from './bulk.ts'
import { orderedNamesOf } from './ordered-names.ts'
import { Override, type PreparedPush, type PushTarget, StoreTarget } from './push-target.ts'
import { type PushOptions, type PushRequest, payloadOf, type RequestContext, refuseOrdered } from './request.ts'
import { trackOf } from './track.ts'
import type { Transaction } from './transaction.ts'

export interface ClientOptions extends RequestContext {
  store: () => Store
  random: () => number
  log: Logger
  strictArgs: 'raise' | 'warn' | false
  maxArgsBytes: { warn: number; refuse: number }
}

/** A bulk push: jobs of one class that share all options. */
export interface BulkRequest extends PushOptions, BulkOptions {
  class: string
  args: Rows
}

/** Pushes jobs: a client, or one with further middleware. */
export interface Pusher {
  /** @returns the job's id; null when client middleware stopped it */
  push(request: PushRequest): Promise<string | null>
  /** @returns an id for each, in their order, null where client middleware stopped one */
  pushBulk(request: BulkRequest): Promise<(string | null)[]>
}

export type ClientMiddleware = Middleware<Payload, Payload | null>

/** Returns the payload to push; a falsy value stops the push. */
export class ClientChain extends Chain<Payload, Payload | null> {
  readonly #with: (links: readonly ClientMiddleware[]) => Pusher

  constructor(pusherWith: (links: readonly ClientMiddleware[]) => Pusher) {
    super()
    this.#with = pusherWith
  }

  /** Returns a pusher with further middleware inside this chain. */
  with(...links: ClientMiddleware[]): Pusher {
    return this.#with(links)
  }
}

/** State that a client shares with those derived from it. */
interface Shared {
  readonly chain: ClientChain
  /** Replaces the target of every push (highkiq/testing). */
  readonly testing: Override<PushTarget>
  /** Replaces the target within a part of the program that pushes to another store. */
  readonly elsewhere: Override<PushTarget>
  /** Set while the function of `hq.transaction` runs. */
  transaction: Transaction | undefined
}

/**
 * Pushing: a request becomes a payload, passes the client middleware, is checked, and is stored together with whatever
 * else is pushed in the same turn of the event loop.
 */
export class Client implements Pusher {
  readonly #options: ClientOptions
  readonly #shared: Shared
  readonly #target: PushTarget
  /** Whether this client pushes to another store, so that replacements do not apply. */
  readonly #elsewhere: boolean
  /** Middleware inside the app's chain. */
  readonly #inner: Chain<Payload, Payload | null> | undefined

  constructor(
    options: ClientOptions,
    from?: { shared: Shared; target?: PushTarget; inner?: Chain<Payload, Payload | null> },
  ) {
    this.#options = options
    this.#target = from?.target ?? new StoreTarget(options.store, options.now)
    this.#elsewhere = from !== undefined && from.target === undefined
    this.#inner = from?.inner
    this.#shared = from?.shared ?? {
      chain: new ClientChain((links) => this.#with(links)),
      testing: new Override(),
      elsewhere: new Override(),
      transaction: undefined,
    }
  }

  get chain(): ClientChain {
    return this.#shared.chain
  }

  get wire(): Wire {
    return this.#options.wire
  }

  /** The replacement that highkiq/testing sets. */
  get testing(): Override<PushTarget> {
    return this.#shared.testing
  }

  /** Whether there is no middleware, so that a push only waits for its store. */
  get isPlain(): boolean {
    return this.chain.size === 0 && this.#inner === undefined
  }

  /** Returns a client for another store. */
  via(store: () => Store): Client {
    return new Client({ ...this.#options, store }, { shared: this.#shared })
  }

  /** Runs `work`; its pushes, and those of all that it calls and awaits, use the target of `client`. */
  within<T>(client: Client, work: () => T): T {
    return this.#shared.elsewhere.within(client.#target, work)
  }

  /** Sends all later pushes to `store`, except those that name another store. */
  divert(store: Store): void {
    this.#shared.elsewhere.everywhere = new StoreTarget(() => store, this.#options.now)
  }

  /** Runs `work`; its pushes join the transaction. */
  joining<T>(transaction: Transaction, work: () => T): T {
    this.#shared.transaction = transaction
    try {
      return work()
    } finally {
      this.#shared.transaction = undefined
    }
  }

  /** Runs work that a transaction can't include. Inside a transaction it is refused, which rolls that back. */
  apart<T>(what: string, work: () => Promise<T>): Promise<T> {
    const refused = () =>
      new HighkiqError('INVALID_OPTION', `${what} inside hq.transaction can't be part of it: do it after the commit`)
    return this.transaction?.refuse(refused()) ?? work()
  }

  /**
   * The job's id once it is stored; null when middleware stopped it.
   * @throws INVALID_JOB, INVALID_ARGS, ARGS_TOO_LARGE before anything is sent; PushError when it could not be stored
   */
  push(request: PushRequest): Promise<string | null> {
    // Read the transaction and the target now: after an await they may have changed.
    return this.transaction?.push(this, request) ?? this.#push(request, this.#current)
  }

  /** Pushes one job for each list of arguments, batch by batch, and reads at most one batch ahead. */
  pushBulk({ args, at, spreadInterval, batchSize, ...rest }: BulkRequest): Promise<(string | null)[]> {
    const { class: name, jid } = rest
    const requestOf = (args: unknown[]) => ({ ...rest, args })
    return this.pushEach({ name, rows: args, jid, requestOf, options: { at, spreadInterval, batchSize } })
  }

  pushEach<Args extends unknown[]>(bulk: Bulk<Args>): Promise<(string | null)[]> {
    const plan = () => planBulk(bulk, this.#options)
    return (
      this.transaction?.pushEach(this, bulk.rows, plan) ??
      this.#pushEach({ name: bulk.name, rows: bulk.rows as Rows }, plan, this.#current)
    )
  }

  /** Returns the job and where to store it; null when middleware stopped it. */
  async prepare(request: PushRequest): Promise<PreparedPush | null> {
    const payload = this.normalise(request)
    const passed = this.isPlain ? payload : await this.pass(payload)
    return passed && this.write(passed, request.idempotent)
  }

  /** Returns a complete payload for a request. @throws INVALID_JOB, INVALID_OPTION */
  normalise(request: PushRequest): Payload {
    const payload = payloadOf(request, this.#options)
    if (this.#mayBeOrdered(request.class) && orderedNamesOf(this.store).has(request.class)) refuseOrdered(request.class)
    return payload
  }

  /**
   * Runs the client middleware; returns null when it stopped the push. @throws INVALID_JOB when its answer is not a
   * job
   */
  async pass(payload: Payload): Promise<Payload | null> {
    if (this.isPlain) return payload
    const inner = this.#inner
    const after = await this.chain.run(
      payload,
      inner ? () => inner.run(payload, async () => payload) : async () => payload,
    )
    if (!after) return null
    const { class: name, args, queue = 'default' } = after
    if (typeof name !== 'string' || !Array.isArray(args)) {
      throw invalid(`${payload.class}: client middleware answered something that is no job: return what next() gives`)
    }
    // Another program may have made the queue, so only a changed name is checked.
    if (queue !== payload.queue) checkQueueName(queue)
    return after
  }

  /** Checks a payload and turns it into JSON and its destination. @throws INVALID_ARGS, ARGS_TOO_LARGE */
  write(payload: Payload, once = false): PreparedPush {
    this.check(payload)
    const { jid, queue, at } = payload
    const now = this.#options.now()
    // The object may belong to middleware, so it is copied before it changes.
    const job = this.isPlain ? payload : { ...payload }
    if (at !== undefined) delete job.at
    let destination: PushItem
    if (typeof at === 'number' && at * 1000 > now) {
      delete job.enqueued_at
      destination = { to: 'schedule', text: this.#write(job), score: at }
    } else {
      job.enqueued_at = timeOf(now, this.wire)
      destination = { to: 'queue', queue, text: this.#write(job), end: 'back' }
    }
    if (once) destination.once = jid
    const track = trackOf(payload, now)
    return track ? { jid, destination, track } : { jid, destination }
  }

  /** Checks that the arguments survive JSON. @throws INVALID_ARGS */
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

  /** Warns about large jobs. @throws ARGS_TOO_LARGE */
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
    const after = await this.pass({ ...before, queue })
    if (!after) return null
    this.check(after)
    const ours: Partial<Payload> = { enqueued_at, at: undefined }
    // Without a prototype, so that a field may have any name.
    const changes: Partial<Payload> = Object.assign(Object.create(null), ours)
    for (const [field, value] of Object.entries(after)) {
      if (given.get(field) !== stringifyJson(value)) changes[field] = value
    }
    for (const field of given.keys()) if (!Object.hasOwn(after, field)) changes[field] = undefined
    // Middleware can't change these.
    Object.assign(changes, ours)
    const edited = editPayload(text, changes, this.wire)
    checkReadable(edited, before.class)
    return { text: edited, queue: after.queue ?? queue }
  }

  /** The transaction that a push at this moment joins. */
  get transaction(): Transaction | undefined {
    const { elsewhere, transaction } = this.#shared
    return this.#elsewhere || elsewhere.current ? undefined : transaction
  }

  /** The store of a push at this moment, ignoring test modes. */
  get store(): Store {
    const { elsewhere } = this.#shared
    const target = (this.#elsewhere ? undefined : elsewhere.current) ?? this.#target
    return (target.store ?? this.#options.store)()
  }

  /** The target of a push at this moment. */
  get #current(): PushTarget {
    const { testing, elsewhere } = this.#shared
    return testing.current ?? (this.#elsewhere ? undefined : elsewhere.current) ?? this.#target
  }

  #with(links: readonly ClientMiddleware[]): Client {
    const inner = new Chain<Payload, Payload | null>()
    for (const link of links) inner.use(link)
    return new Client(this.#options, { shared: this.#shared, target: this.#target, inner })
  }

  /**
   * Whether an ordered queue of that name may exist in another program: neither a job nor a queue of this app has the
   * name.
   */
  #mayBeOrdered(name: string): boolean {
    return this.testing.current === undefined && this.#options.definition(name) === undefined
  }

  /** Loads the names of ordered queues before a push. Returns undefined when they are known already, or not needed. */
  #learnOrdered(name: string, { store }: PushTarget): Promise<void> | undefined {
    return store && this.#mayBeOrdered(name) ? orderedNamesOf(store()).refreshed() : undefined
  }

  async #push(request: PushRequest, target: PushTarget): Promise<string | null> {
    const learning = this.#learnOrdered(request?.class, target)
    if (learning) await learning
    const finished = await this.prepare(request)
    if (!finished) return null
    try {
      await target.push(finished)
    } catch (thrown) {
      const failure = unconfirmed(thrown, [finished])
      if (failure !== undefined) throw failure
    }
    return finished.jid
  }

  async #pushEach(
    { name, rows }: Pick<Bulk, 'name' | 'rows'>,
    planned: () => BulkPlan,
    target: PushTarget,
  ): Promise<(string | null)[]> {
    const plan = planned()
    const learning = this.#learnOrdered(name, target)
    if (learning) await learning
    const jids: (string | null)[] = []
    let batch: PreparedPush[] = []
    const flush = async () => {
      const finished = batch
      batch = []
      try {
        await target.pushAll(finished)
      } catch (thrown) {
        const failure = unconfirmed(thrown, finished, jids)
        if (failure !== undefined) throw failure
      }
    }
    for await (const args of rows) {
      const finished = await this.prepare(plan.request(args, jids.length))
      jids.push(finished?.jid ?? null)
      if (finished) batch.push(finished)
      if (batch.length >= plan.batchSize) await flush()
    }
    plan.end(jids.length)
    if (batch.length > 0) await flush()
    return jids
  }

  #write(payload: Payload): string {
    const text = writePayload(payload, this.wire)
    checkReadable(text, payload.class)
    this.weigh(payload.class, text)
    return text
  }
}

/**
 * Returns the error of a push with the ids of its jobs, which the store does not know; undefined when all of them are
 * stored. `all` holds the ids of the whole call.
 */
function unconfirmed(thrown: unknown, finished: PreparedPush[], all: readonly (string | null)[] = []): unknown {
  if (!(thrown instanceof PushError)) return thrown
  const { message, maybePushed, parts, cause } = thrown
  const left = finished.filter(({ destination }) => !parts?.stored.has(destination))
  if (left.length === 0) return undefined
  const jids = left.map(({ jid }) => jid)
  const refused = maybePushed ? left.filter(({ destination }) => parts?.refused.has(destination)) : left
  const unsure = new Set(jids)
  const pushed = all.flatMap((jid) => (jid === null || unsure.has(jid) ? [] : jid))
  const notPushed = refused.map(({ jid }) => jid)
  return new PushError(message, jids, notPushed.length < jids.length, { cause, notPushed, pushed })
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_JOB', message)
}
