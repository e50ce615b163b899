import { Chain } from '../job/chain.ts'
import { checkQueueName } from '../job/definition.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { Override } from '../job/override.ts'
import { type Payload, readPayload, type Wire } from '../job/payload.ts'
import type { OnConflict } from '../job/unique.ts'
import type { Store } from '../store/contract.ts'
import { type Bulk, type BulkPlan, planBulk } from './bulk.ts'
import { JobWriter, type JobWriterOptions } from './job-writer.ts'
import { promoted } from './promotion.ts'
import type { ObservedPush, PushObserver } from './push-observer.ts'
import {
  DirectTarget,
  type FakeQueues,
  type NewJob,
  type PreparedPush,
  type Pushed,
  type PushPipe,
  type PushTarget,
} from './push-target.ts'
import { type BulkRequest, ClientChain, type ClientMiddleware, type Pusher, type Target } from './pusher.ts'
import type { Conflict } from './refused-push.ts'
import {
  conflictOf,
  isUnique,
  isUniqueBy,
  type PushOptions,
  type PushRequest,
  payloadOf,
  type RequestContext,
  refuseOrdered,
  withJidLock,
} from './request.ts'
import { StoreTarget } from './store-target.ts'
import { type TemplateCache, templateOf } from './template.ts'

export interface ClientOptions extends JobWriterOptions, Omit<RequestContext, 'strictArgs'> {
  store: () => Store
  /** Opens another store. @throws UNKNOWN_STORE, INVALID_OPTION */
  open: (url: string) => Store
  random: () => number
  /** Replaces the arguments of the job that has the lock by those of a refused push; see DirectTarget.replaceHolder. */
  replaceHolder: (store: Store, payload: Payload, conflict: Conflict) => Promise<boolean>
  /** Runs `work` with the values that came with a payload. */
  within: (payload: Payload, work: () => unknown) => unknown
}

/** State that a client shares with those derived from it. */
interface Shared {
  readonly chain: ClientChain
  /** The app's own store. */
  readonly own: StoreTarget
  /** Replaces the target of every push (highkiq/testing). */
  readonly testing: Override<DirectTarget>
  /** Replaces the target within a part of the program that pushes to another store. */
  readonly elsewhere: Override<StoreTarget>
  /** Set while the function of `hq.transaction` runs. */
  transaction: PushTarget | undefined
  /** Collects the pushes in the function of a batch, or of a transaction of the app, except those to another store. */
  readonly collector: Override<{ target: PushTarget; store: StoreTarget | undefined }>
  /** The stores that this app opened for `via`, by their URLs. */
  readonly opened: Map<string, { store: Store; target: StoreTarget }>
  /** Add members to the payload of each push, in its async context. */
  readonly carriers: ((payload: Payload) => void)[]
  observer: PushObserver | undefined
}

/** Pushing: a request becomes a payload, passes the client middleware, is checked, and goes to its target. */
export class Client implements Pusher, PushPipe {
  readonly writer: JobWriter
  readonly #options: ClientOptions
  readonly #shared: Shared
  /** The other store to which this client pushes. */
  readonly #other: StoreTarget | undefined
  /** Middleware inside the app's chain. */
  readonly #inner: Chain<Payload, Payload | null> | undefined

  constructor(
    options: ClientOptions,
    from?: { shared: Shared; other?: StoreTarget; inner?: Chain<Payload, Payload | null> },
  ) {
    this.#options = options
    this.writer = new JobWriter(options)
    this.#other = from?.other
    this.#inner = from?.inner
    this.#shared = from?.shared ?? {
      chain: new ClientChain((links) => this.#with(links)),
      own: new StoreTarget(options.store, options.now),
      testing: new Override(),
      elsewhere: new Override(),
      transaction: undefined,
      collector: new Override(),
      opened: new Map(),
      carriers: [],
      observer: undefined,
    }
  }

  get chain(): ClientChain {
    return this.#shared.chain
  }

  get wire(): Wire {
    return this.#options.wire
  }

  get testing(): Override<DirectTarget> {
    return this.#shared.testing
  }

  /** The jobs that a test collects. @throws INVALID_OPTION if none does */
  get collected(): FakeQueues {
    const collected = this.testing.current?.collected
    if (collected) return collected
    throw invalidOption('nothing is collected here: call fake(hq) of highkiq/testing first')
  }

  /** Adds a function that adds members to the payload of each later push. The jobs of a bulk may share its result. */
  carry(carrier: (payload: Payload) => void): void {
    this.#shared.carriers.push(carrier)
  }

  /** Makes a function run around each later push. */
  observe(observer: PushObserver): void {
    this.#shared.observer = observer
  }

  get isPlain(): boolean {
    return this.chain.size === 0 && this.#inner === undefined
  }

  isDefined(name: string): boolean {
    return this.#options.definition(name) !== undefined
  }

  /**
   * The target of a push at this moment. Read it before an await, after which it may have changed. A push to another
   * store joins no transaction and no batch.
   */
  get target(): PushTarget {
    const { transaction, collector } = this.#shared
    const other = this.#otherStore
    const open = collector.current
    return (other ? undefined : transaction) ?? (open?.store === other ? open?.target : undefined) ?? this.direct
  }

  /** The target of a push outside of transactions and batches. */
  get direct(): DirectTarget {
    const { own, testing } = this.#shared
    return testing.current ?? this.#otherStore ?? own
  }

  get #otherStore(): StoreTarget | undefined {
    return this.#other ?? this.#shared.elsewhere.current
  }

  /** Returns a client for another store. @throws INVALID_OPTION, UNKNOWN_STORE */
  via(target: Target): Client {
    if (target instanceof Client) return target
    const { now } = this.#options
    if (typeof target === 'string') return this.#clientOf(this.#targetOf(target))
    if (typeof target === 'object' && target !== null && 'store' in target) {
      return this.#clientOf(new StoreTarget(() => target.store, now))
    }
    throw invalidOption('via: name a store by its URL, or give another app')
  }

  #clientOf(other: StoreTarget): Client {
    return new Client(this.#options, { shared: this.#shared, other })
  }

  /** Returns the same target for the same URL, so that the pushes of one turn of the event loop are stored together. */
  #targetOf(url: string): StoreTarget {
    const { opened } = this.#shared
    const known = opened.get(url)
    if (known) return known.target
    const store = this.#options.open(url)
    const target = new StoreTarget(() => store, this.#options.now)
    opened.set(url, { store, target })
    return target
  }

  /** Closes the stores that `via` opened; stores of other apps stay open. */
  async close(): Promise<void> {
    for (const { store } of this.#shared.opened.values()) await store.close()
  }

  /** Runs `work`; its pushes, and those of all that it calls and awaits, go to the store of `client`. */
  within<T>(client: Client, work: () => T): T {
    return this.#shared.elsewhere.within(client.#other ?? client.#shared.own, work)
  }

  /** Runs `work`; its pushes, and those of all that it calls and awaits, go to the target of a batch. */
  async inBatch<T>(target: PushTarget, work: () => T): Promise<Awaited<T>> {
    return await this.#shared.collector.within({ target, store: this.#otherStore }, work)
  }

  /** Runs `work`; its pushes to the app's own store, and those of all that it calls and awaits, go to the target of a transaction. */
  async inTransaction<T>(target: PushTarget, work: () => T): Promise<Awaited<T>> {
    return await this.#shared.collector.within({ target, store: undefined }, work)
  }

  /** Sends all later pushes to `store`, except those that name another store. */
  divert(store: Store): void {
    this.#shared.elsewhere.everywhere = new StoreTarget(() => store, this.#options.now)
  }

  /** Runs `work`; its pushes join the transaction. */
  joining<T>(transaction: PushTarget, work: () => T): T {
    this.#shared.transaction = transaction
    try {
      return work()
    } finally {
      this.#shared.transaction = undefined
    }
  }

  /**
   * See PushTarget.push.
   * @throws INVALID_JOB, INVALID_ARGS, ARGS_TOO_LARGE before anything is sent; PushError when the store did not
   * confirm it
   */
  push(request: PushRequest, cache?: TemplateCache): Promise<string | null> {
    // Two pushes of the same millisecond may carry different values.
    const template = this.#shared.carriers.length === 0 ? cache : undefined
    const locked = withJidLock(request)
    return this.#observed({ class: request?.class, isBulk: false }, () => this.target.push(this, locked, template))
  }

  /**
   * Like `push`, and says whether the job is another one, or was there before. A transaction or a batch does not know it yet.
   * @param newJob given if no other push has the jid of the job: then the job needs no lock for it
   */
  pushed(request: PushRequest, newJob?: NewJob): Promise<Pushed> {
    return this.#observed({ class: request?.class, isBulk: false }, async () => {
      const named = newJob ? { ...request, jid: newJob.jid } : withJidLock(request)
      if (this.target instanceof DirectTarget) return this.target.pushed(this, named, newJob)
      return { jid: await this.target.push(this, named), existing: false }
    })
  }

  pushBulk({ args, at, spreadInterval, batchSize, jid, ...rest }: BulkRequest): Promise<(string | null)[]> {
    const requestOf = (args: unknown[], own?: PushOptions) => withJidLock({ ...rest, ...own, args })
    const options = { at, spreadInterval, batchSize, jid }
    return this.pushEach({ name: rest.class, rows: args, requestOf, isUniform: true, options })
  }

  pushEach<Args extends unknown[]>(bulk: Bulk<Args>): Promise<(string | null)[]> {
    return this.observed(bulk.name, () => this.target.pushEach(this, bulk))
  }

  /** Runs a push of many in the observer, if there is one. */
  observed<T>(name: string, work: () => Promise<T>, queue?: string): Promise<T> {
    return this.#observed({ class: name, isBulk: true, queue }, work)
  }

  #observed<T>(push: ObservedPush, work: () => Promise<T>): Promise<T> {
    const { observer, transaction } = this.#shared
    if (!observer) return work()
    const pushed = observer(push, work)
    // The pushes of a transaction are not awaited: the transaction itself reports the error.
    if (transaction) pushed.catch(() => {})
    return pushed
  }

  plan<Args extends unknown[]>(bulk: Bulk<Args>): BulkPlan {
    return planBulk(bulk, this.#options)
  }

  prepare(request: PushRequest, cache?: TemplateCache): PreparedPush | Promise<PreparedPush | null> {
    if (!this.isPlain) return this.#passed(request)
    const now = this.#options.now()
    const isRepeated = cache?.now === now && this.#options.strictArgs === 'raise'
    if (isRepeated && cache.template) return this.writer.fill(cache.template, request.args)
    const payload = this.normalise(request)
    const prepared = this.write(payload, request.idempotent)
    if (cache && request.jid === undefined) {
      cache.now = now
      // A single push needs no template.
      cache.template = isRepeated
        ? templateOf(payload, prepared.destination, this.writer.json(payload.args))
        : undefined
    }
    return prepared
  }

  conflict(request: PushRequest): OnConflict {
    return conflictOf(request, this.#options)
  }

  isUnique(request: PushRequest): boolean {
    return isUnique(request, this.#options)
  }

  /** @throws INVALID_OPTION for a unique job, which `what` can't be */
  refuseUnique(request: PushRequest, what: string): void {
    if (this.isUnique(request)) this.#refuseUnique(request, what)
  }

  /** A lock on all arguments of a callback, with the id of its batch or task, excludes nothing. @throws INVALID_OPTION for another one */
  refuseUniqueCallback(request: PushRequest, what: string): void {
    if (isUniqueBy(request, this.#options)) this.#refuseUnique(request, what)
  }

  #refuseUnique(request: PushRequest, what: string): never {
    const name = request.wrapped ?? request.class
    const hint = `give ${name}.set({ unique: false }) instead`
    const message = `${name}: ${what} can't be unique: ${hint}`
    throw invalidOption(message, { problem: 'unique', job: name, option: 'unique', value: name, hint })
  }

  replaceHolder(store: Store, prepared: PreparedPush, conflict: Conflict): Promise<boolean> {
    const payload = this.writer.opened(readPayload(prepared.destination.text) as Payload)
    return this.#options.replaceHolder(store, payload, conflict)
  }

  normalise(request: PushRequest): Payload {
    const payload = payloadOf(request, this.#options)
    // An ordered queue with this name may exist in another program.
    if (!this.isDefined(request.class) && this.target.orderedNames?.has(request.class)) refuseOrdered(request.class)
    for (const carry of this.#shared.carriers) carry(payload)
    return payload
  }

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
      throw new HighkiqError(
        'INVALID_JOB',
        `${payload.class}: client middleware must return a payload with class and args, or null: return what next() returns`,
      )
    }
    // Another program may have made the queue, so only a changed name is checked.
    if (queue !== payload.queue) checkQueueName(queue)
    return after
  }

  write(payload: Payload, once = false): PreparedPush {
    // The object may belong to middleware.
    return this.writer.prepare(this.isPlain ? payload : { ...payload }, once)
  }

  /** See `promoted`. */
  promote(text: string): ReturnType<typeof promoted> {
    return promoted(this, text, this.#options)
  }

  #with(links: readonly ClientMiddleware[]): Client {
    const inner = new Chain<Payload, Payload | null>()
    for (const link of links) inner.use(link)
    return new Client(this.#options, { shared: this.#shared, inner })
  }

  async #passed(request: PushRequest): Promise<PreparedPush | null> {
    const passed = await this.pass(this.normalise(request))
    return passed && this.write(passed, request.idempotent)
  }
}
