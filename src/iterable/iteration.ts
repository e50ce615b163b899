/** Runs one attempt of an iterable job: processes item by item, saves the cursor, and stops between two items. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AppPort } from '../app/port.ts'
import { checkReadable, checkValue } from '../job/args.ts'
import type { JobContext, Progress } from '../job/context.ts'
import type { Handler } from '../job/definition.ts'
import { HighkiqError, hasCode, isUnreachable, Kill, Pause, Release } from '../job/errors.ts'
import { parseJson, stringifyJson } from '../job/json.ts'
import { clearCancellations } from '../job/rows.ts'
import type { IterationState } from '../store/contract.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'
import { checkPairs, type IterableContext, type IterableJob, type IterationView, type Pairs } from './definition.ts'

const SAVE_SECONDS = 5
/** The event loop gets a turn after this time, because items that never wait would block it. */
const TURN_MS = 10
/** At most this many characters of a cursor are shown. */
const MOST_SHOWN = 100

type AnyJob = IterableJob<unknown[], unknown, unknown>

export class Iteration implements IterationView {
  executions = 1
  done = 0
  cancelled = false
  readonly #app: AppPort
  readonly #job: AnyJob
  readonly #ctx: IterableContext
  readonly #args: unknown[]
  readonly #began = performance.now()
  /** Run time of the earlier attempts, in seconds. */
  #before = 0
  #isLoaded = false
  /** The cursor of the current or next item, as JSON. */
  #cursor = 'null'
  #savedAt = this.#began
  #shown: Progress | undefined

  constructor(app: AppPort, job: AnyJob, ctx: IterableContext, args: unknown[]) {
    this.#app = app
    this.#job = job
    this.#ctx = ctx
    this.#args = args
  }

  get runtime(): number {
    return this.#before + (performance.now() - this.#began) / 1000
  }

  /** The state to save; undefined before the saved state is loaded, and for a job without an id. */
  get state(): IterationState | undefined {
    if (!this.#isLoaded) return undefined
    return { executions: this.executions, runtime: this.runtime, cursor: this.#cursor }
  }

  /** Resolves when no item follows. @throws Pause when it was stopped between two items */
  async run(): Promise<void> {
    const job = this.#job
    if (!this.#ctx.isInline) await this.#load()
    const pairs = await this.#call(job.enumerate, parseJson(this.#cursor))
    checkPairs(this.#ctx.payload.class, pairs)
    await this.#call(this.executions === 1 ? job.onStart : job.onResume)
    let pause: Pause | undefined
    try {
      if (!this.cancelled) pause = await this.#go(pairs)
      if (this.cancelled) await this.#call(job.onCancel)
    } catch (thrown) {
      // The job fails with its first error.
      await this.#call(job.onStop).catch((another) => this.#report(another, 'onStop'))
      throw thrown
    }
    await this.#call(job.onStop)
    if (pause) throw pause
    await this.#call(job.onComplete)
  }

  /** Processes the items. Resolves with the Pause that stopped it; undefined when no item follows. */
  async #go(pairs: Pairs<unknown, unknown>): Promise<Pause | undefined> {
    const saveMs = (this.#job.saveEvery ?? SAVE_SECONDS) * 1000
    let turnedAt = performance.now()
    for await (const pair of pairs) {
      const item = this.#enter(pair)
      const now = performance.now()
      const pause = this.#mustStop(now)
      if (pause) return pause
      if (this.cancelled) return undefined
      if (now - this.#savedAt >= saveMs) await this.#save()
      await this.#work(item)
      if (this.cancelled) return undefined
      this.done++
      if (performance.now() - turnedAt >= TURN_MS) {
        this.#show()
        await nextTurn()
        turnedAt = performance.now()
      }
    }
    return undefined
  }

  /** Checks a pair, makes its cursor the current one, and returns its item. */
  #enter(pair: unknown): unknown {
    const { class: name } = this.#ctx.payload
    if (!Array.isArray(pair) || pair.length !== 2) {
      throw new HighkiqError('INVALID_ARGS', `${name}: enumerate must yield pairs: [item, cursor]`)
    }
    const [item, cursor] = pair
    if (cursor === null) throw new HighkiqError('INVALID_ARGS', `${name}: a null cursor means from the first item on`)
    checkValue(cursor, 'cursor', name, 0)
    this.#cursor = stringifyJson(cursor)
    checkReadable(this.#cursor, name, { name: 'cursor' })
    return item
  }

  #mustStop(now: number): Pause | undefined {
    const reason = this.#ctx.abortReason
    if (reason?.code === 'JOB_CANCELLED') this.cancelled = true
    else if (reason && reason.code !== 'SHUTDOWN') throw reason
    else if (this.#ctx.interrupted) return new Pause('front')
    // An attempt runs at least one item, or the job would never end.
    const { maxIterationRuntime = this.#app.settings.maxIterationRuntime } = this.#job
    if (this.done > 0 && now - this.#began >= maxIterationRuntime * 1000) return new Pause('back')
    return undefined
  }

  /** Reports progress, unless the handler does so itself. */
  #show(): void {
    const ctx = this.#ctx
    if (ctx.progressed !== this.#shown) return
    ctx.progress(this.done, undefined, `cursor ${this.#cursor.slice(0, MOST_SHOWN)}`)
    this.#shown = ctx.progressed
  }

  async #work(item: unknown): Promise<void> {
    const { each, around } = this.#job
    const work = () => each.call(this.#job, this.#ctx, item, ...this.#args)
    try {
      if (around) await around.call(this.#job, this.#ctx, async () => void (await work()), ...this.#args)
      else await work()
    } catch (thrown) {
      // The item ended because of the cancellation.
      if (this.#ctx.abortReason?.code !== 'JOB_CANCELLED') throw thrown
      this.cancelled = true
    }
  }

  async #load(): Promise<void> {
    // A job of another program may have no id.
    if (typeof this.#ctx.jid !== 'string') return
    try {
      const [record] = await this.#app.store.jobs.iterations([this.#ctx.jid])
      if (record) {
        this.executions = record.executions + 1
        this.#before = record.runtime
        this.#cursor = record.cursor ?? 'null'
        this.cancelled = record.cancelled !== null
      }
      this.#isLoaded = true
    } catch (thrown) {
      // The store failed, not the job. The job continues when the store is back.
      if (isUnreachable(thrown)) throw new Release()
      throw thrown
    }
  }

  /**
   * Saves the state. After a failure the next save or the end of the attempt saves it.
   * @throws LEASE_LOST when another worker has the job, which may have ended there
   */
  async #save(): Promise<void> {
    const { state } = this
    if (!state) return
    if (!(await this.#ctx.isStillOwn())) throw new HighkiqError('LEASE_LOST', 'this process lost its lease')
    try {
      const saved = await this.#app.store.jobs.saveIteration(this.#ctx.jid, state, this.#app.now())
      if (!saved) throw new HighkiqError('LEASE_LOST', 'a later attempt of this job runs elsewhere')
    } catch (thrown) {
      if (hasCode(thrown, 'LEASE_LOST')) throw thrown
      this.#report(thrown, 'saving the progress of an iterable job')
    }
    this.#savedAt = performance.now()
  }

  // biome-ignore lint/suspicious/noExplicitAny: hooks differ in what comes between the context and the arguments
  async #call(hook: ((...all: any[]) => unknown) | undefined, ...first: unknown[]): Promise<any> {
    return hook?.call(this.#job, this.#ctx, ...first, ...this.#args)
  }

  #report(error: unknown, during: string): void {
    this.#app.hooks.report(error, { jid: this.#ctx.jid, class: this.#ctx.payload.class, during })
  }
}

/** Returns the handler that runs an iterable job. */
export function iterableHandler<Args extends unknown[], Item, Cursor>(
  app: AppPort,
  job: IterableJob<Args, Item, Cursor>,
): Handler<Args, void> {
  const any = job as unknown as IterableJob<unknown[], unknown, unknown>
  return async (ctx, ...args) => {
    // Every item gets the same arguments.
    if (ctx.payload.hk_list) throw new Kill('an iterable job gets one row: make its task without rowsPerJob')
    const own = ctx as unknown as IterableContext & { iteration: Iteration }
    own.iteration = new Iteration(app, any, own, deepFreeze(args))
    own.isExtended = true
    await own.iteration.run()
  }
}

function deepFreeze<T>(value: T): T {
  // Arguments of other programs may be deeper than the stack.
  const values: unknown[] = [value]
  while (values.length > 0) {
    const one = values.pop()
    if (typeof one !== 'object' || one === null || Object.isFrozen(one)) continue
    Object.freeze(one)
    for (const inner of Object.values(one)) values.push(inner)
  }
  return value
}

/** After these outcomes the job does not run again, also not from the dead set. */
const ENDED: ReadonlySet<Outcome['kind']> = new Set(['done', 'deferred', 'business-failure', 'discarded'])

/** Saves the progress of an iterable job in the step that moves the job, so that no crash can come between. */
export const iterations: Plugin = {
  concerns: ['cancelled', 'own-context'],
  // Sidekiq's `cancel!` writes only to the saved iteration.
  cancelledByOthers: (ctx) => 'iteration' in ctx,
  effects({ jid }, outcome, now, ctx?: JobContext & { iteration?: Iteration }) {
    const { kind } = outcome
    // This also holds for a job that was removed while it waited: then only its id is known.
    if (kind === 'cancelled') return [{ kind: 'iteration', jid, state: null }]
    const iteration = ctx?.iteration
    const state = iteration?.state
    if (!state || kind === 'started' || kind === 'not-started') return undefined
    const isOver = kind === 'dead' ? outcome.isDeleted === true : ENDED.has(kind)
    if (!isOver) return [{ kind: 'iteration', jid, state }]
    const over = { kind: 'iteration', jid, state: null } as const
    // The job has ended because of its cancellation, so the cancellation is cleared.
    return iteration.cancelled ? [over, ...clearCancellations([jid], now())] : [over]
  },
}
