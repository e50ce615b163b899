/** One thread that runs handlers, one at a time. When it dies, or ignores an abort, only its job fails. */

import type { ResourceLimits } from 'node:worker_threads'
import type { JobContext } from '../../job/context.ts'
import { HighkiqError, invalidOption, messageOf } from '../../job/errors.ts'
import { Thread } from '../../thread.ts'
import { type FromThread, putTogether, type ThreadData, type ToThread } from './wire.ts'

/** After an abort the handler has this long to end by itself, less than a timeout grants. */
const GRACE_MS = 500
/** The time to close the apps of the thread. */
const CLOSE_MS = 2000
/** The time to load the files of the thread. */
const LOAD_MS = 60_000

interface Running {
  ctx: JobContext
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

export class JobThread {
  readonly #thread: Thread
  readonly #flag: Int32Array
  /** Called once when the thread has ended; `error` is set if it died between two jobs. */
  readonly #onEnd: (error: unknown) => void
  #running: Running | undefined
  #error: unknown
  /** The error of jobs that need this thread after it has ended. */
  #died: HighkiqError | undefined
  #hasLoaded = false
  #ending = false
  /** The id of the thread. */
  readonly id: number
  /** Rejects when the files can't be loaded. */
  readonly loaded: Promise<void>
  #settleLoaded!: (error?: unknown) => void

  constructor(data: Omit<ThreadData, 'interrupted'>, resourceLimits: ResourceLimits, onEnd: (error: unknown) => void) {
    const interrupted = new SharedArrayBuffer(4)
    this.#flag = new Int32Array(interrupted)
    this.#onEnd = onEnd
    const workerData: ThreadData = { ...data, interrupted }
    this.#thread = new Thread('worker/threads/thread.js', {
      workerData,
      resourceLimits,
      name: 'highkiq job',
    })
    this.id = this.#thread.threadId
    this.loaded = this.#load()
    // Callers that wait for it get the error.
    this.loaded.catch(() => {})
    this.#thread.on('message', (message: FromThread) => this.#receive(message))
    this.#thread.on('messageerror', (thrown) => this.#fail(thrown))
    this.#thread.on('error', (thrown) => {
      this.#ending = true
      this.#error = thrown
    })
    this.#thread.on('exit', () => this.#exited())
  }

  /** True once the thread runs no more jobs. */
  get isEnding(): boolean {
    return this.#ending
  }

  async #load(): Promise<void> {
    const late = new HighkiqError('THREAD_DIED', `the files of a thread were not loaded within ${LOAD_MS / 1000} s`)
    const timer = setTimeout(() => this.#settleLoaded(late), LOAD_MS).unref()
    try {
      await new Promise<void>((resolve, reject) => {
        this.#settleLoaded = (error) => (error === undefined ? resolve() : reject(error))
      })
      this.#hasLoaded = true
    } catch (thrown) {
      this.#end()
      throw thrown
    } finally {
      clearTimeout(timer)
    }
  }

  /** The job that it runs. */
  get ctx(): JobContext | undefined {
    return this.#running?.ctx
  }

  /** @throws a copy of what the handler throws; THREAD_DIED; INVALID_OPTION while it runs a handler; the reason of the abort, when the handler ignored it */
  async run(job: string, ctx: JobContext): Promise<unknown> {
    if (this.#died) throw this.#died
    if (this.#running) throw invalidOption(`${job}: middleware called next() again while the handler ran: call it once`)
    const { payload, queue, args, task, activeJob } = ctx
    this.#thread.ref()
    Atomics.store(this.#flag, 0, ctx.interrupted ? 1 : 0)
    const result = new Promise((resolve, reject) => {
      this.#running = { ctx, resolve, reject }
    })
    let timer: NodeJS.Timeout | undefined
    const abort = () => {
      const { code, message } = ctx.abortReason as HighkiqError
      this.#send({ abort: { code: code as never, message } })
      this.interrupt()
      timer = setTimeout(() => this.#end(), GRACE_MS)
    }
    try {
      const row = task && { id: task.id, index: task.index, indexes: task.indexes }
      this.#send({ run: { job, payload, queue, args, task: row, activeJob } })
      if (ctx.abortReason) abort()
      else ctx.signal.addEventListener('abort', abort, { once: true })
      return await result
    } finally {
      clearTimeout(timer)
      ctx.signal.removeEventListener('abort', abort)
      this.#running = undefined
      // An idle thread does not keep the process alive.
      this.#thread.unref()
    }
  }

  /** Sets `ctx.interrupted` in the thread: the worker fetches no more jobs. */
  interrupt(): void {
    Atomics.store(this.#flag, 0, 1)
  }

  /** Ends an idle thread gracefully, and a busy one at once. */
  async close(): Promise<void> {
    if (this.#died) return
    let timer: NodeJS.Timeout | undefined
    const exited = new Promise((resolve) => this.#thread.once('exit', resolve))
    if (this.#running) this.#end()
    else {
      this.#ending = true
      this.#thread.ref()
      this.#send({ close: true })
      timer = setTimeout(() => this.#end(), CLOSE_MS)
    }
    await exited
    clearTimeout(timer)
  }

  #receive(message: FromThread): void {
    if ('loaded' in message) this.#settleLoaded()
    if ('broken' in message) this.#settleLoaded(putTogether(message.broken))
    const { ctx, resolve, reject } = this.#running ?? {}
    if (!ctx || 'loaded' in message || 'broken' in message) return
    if ('log' in message) ctx.log[message.log.level](message.log.about, message.log.message)
    else if ('message' in message) ctx.message(message.message.text, message.message.row)
    else if ('progress' in message) {
      const { done, total, note } = message.progress
      ctx.progress(done, total, note)
    } else if ('failed' in message) reject?.(putTogether(message.failed))
    else {
      const { result, problem } = message.done
      if (problem !== undefined) ctx.log.warn({ problem }, "the result of a job can't leave its thread")
      resolve?.(result)
    }
  }

  #fail(thrown: unknown): void {
    this.#error = thrown
    this.#end()
  }

  #end(): void {
    this.#ending = true
    void this.#thread.terminate()
  }

  #exited(): void {
    this.#ending = true
    const why = this.#error === undefined ? 'it ended by itself' : messageOf(this.#error)
    const died = new HighkiqError('THREAD_DIED', `the thread of the job died: ${why}`, undefined, {
      cause: this.#error,
    })
    this.#died = died
    this.#settleLoaded(died)
    const { ctx, reject } = this.#running ?? {}
    this.#onEnd(ctx || !this.#hasLoaded ? undefined : this.#error)
    if (ctx) reject?.(ctx.abortReason ?? died)
  }

  #send(message: ToThread): void {
    this.#thread.postMessage(message)
  }
}
