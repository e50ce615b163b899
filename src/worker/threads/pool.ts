/** The threads of a worker: one for each running job that needs one, kept for a while for the next job. */

import type { JobContext } from '../../job/context.ts'
import type { JobDefinition, ThreadOptions } from '../../job/definition.ts'
import { type HighkiqError, invalidOption } from '../../job/errors.ts'
import { unlessAborted } from '../../job/wait.ts'
import { urlOf } from '../../load/module.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine, Threads } from '../engine.ts'
import { JobThread } from './job-thread.ts'

/** Where threads find the jobs of the app. */
export interface ThreadSource {
  files: readonly (string | URL)[]
  url: string | undefined
  inMemory: boolean
}

/** An idle thread ends after this long. */
const IDLE_MS = 30_000

export class ThreadPool implements BackgroundService, Threads {
  readonly #source: () => ThreadSource
  readonly #report: Engine['report']
  readonly #threads = new Set<JobThread>()
  /** The idle threads by their files and resource limits. */
  readonly #idle = new Map<string, { thread: JobThread; timer: NodeJS.Timeout }[]>()
  #stopped = false

  constructor(source: () => ThreadSource, report: Engine['report']) {
    this.#source = source
    this.#report = report
  }

  start(): void {}

  quiet(): void {
    for (const thread of this.#threads) thread.interrupt()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const idle of this.#idle.values()) for (const { timer } of idle) clearTimeout(timer)
    await Promise.all([...this.#threads].map((thread) => thread.close()))
  }

  /** The job of each busy thread, by the id of the thread. */
  get running(): Map<number, string> {
    const jobs = [...this.#threads].flatMap(({ id, ctx }) =>
      ctx ? [[id, `${ctx.jid} ${ctx.payload.class}`] as const] : [],
    )
    return new Map(jobs)
  }

  /**
   * Resolves with a thread for one job once it has loaded the file that defines the job. Neither a timeout nor an abort ends
   * a thread that is loading, because the next attempt would have to load as long.
   * @throws INVALID_OPTION, THREAD_DIED, the reason of an abort
   */
  async reserve({ name, options }: JobDefinition, ctx: JobContext) {
    const { files, url, inMemory } = this.#source()
    const { file, resourceLimits = {} } = threadOptions(options.thread)
    const urls = (file === undefined ? files : [file]).map((one) => urlOf(one).href)
    if (urls.length === 0) throw noFile(name)
    const kind = JSON.stringify([urls, resourceLimits])
    const thread = this.#popIdle(kind) ?? this.#startThread(kind, urls, resourceLimits, url, inMemory)
    try {
      await unlessAborted(ctx.signal, thread.loaded)
    } catch (thrown) {
      void thread.loaded.then(
        () => this.#release(kind, thread),
        () => {},
      )
      throw thrown
    }
    let released = false
    const runs: Promise<unknown>[] = []
    const run = () => {
      const running = released ? Promise.reject(ranLate(name)) : thread.run(name, ctx)
      runs.push(running)
      return running
    }
    const release = () => {
      released = true
      // Middleware may return before the handler does: until then the thread is busy.
      void Promise.allSettled(runs).then(() => this.#release(kind, thread))
    }
    return { run, release }
  }

  #startThread(kind: string, files: string[], limits: object, url: string | undefined, inMemory: boolean): JobThread {
    const thread = new JobThread({ files, url, inMemory }, limits, (error) => {
      this.#threads.delete(thread)
      this.#removeIdle(kind, thread)
      if (error !== undefined) this.#report(error, { during: 'idling: a thread died between two jobs' })
    })
    this.#threads.add(thread)
    return thread
  }

  /** Returns the thread that became idle last. */
  #popIdle(kind: string): JobThread | undefined {
    for (;;) {
      const idle = this.#idle.get(kind)?.pop()
      clearTimeout(idle?.timer)
      if (!idle?.thread.isEnding) return idle?.thread
    }
  }

  #release(kind: string, thread: JobThread): void {
    if (thread.isEnding) return
    if (this.#stopped) {
      void thread.close()
      return
    }
    const timer = setTimeout(() => {
      this.#removeIdle(kind, thread)
      void thread.close()
    }, IDLE_MS).unref()
    const idle = this.#idle.get(kind)
    if (idle) idle.push({ thread, timer })
    else this.#idle.set(kind, [{ thread, timer }])
  }

  #removeIdle(kind: string, thread: JobThread): void {
    const idle = this.#idle.get(kind) ?? []
    const at = idle.findIndex((one) => one.thread === thread)
    if (at !== -1) clearTimeout(idle.splice(at, 1)[0]?.timer)
  }
}

function threadOptions(thread: boolean | string | URL | ThreadOptions | undefined): ThreadOptions {
  if (typeof thread === 'string' || thread instanceof URL) return { file: thread }
  return typeof thread === 'object' ? thread : {}
}

/** Checks that a thread can find the job, before a worker starts. @throws INVALID_OPTION */
export function checkThread({ name, options }: JobDefinition, files: readonly unknown[]): void {
  if (options.thread && files.length === 0 && threadOptions(options.thread).file === undefined) throw noFile(name)
}

function ranLate(name: string): HighkiqError {
  return invalidOption(`${name}: middleware called next() after it had returned: await next() before you return`)
}

function noFile(name: string): HighkiqError {
  return invalidOption(
    `${name}: the thread must know the file that defines the job: set thread: import.meta.url, or new Highkiq({ files: [import.meta.url] })`,
  )
}
