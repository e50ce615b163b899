/** The thread of jobs with the option `thread`: it loads the files that define them and runs one handler at a time. */

import { inspect } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import { type ContextParts, JobContext, type Progress } from '../../job/context.ts'
import { type BatchFailure, HighkiqError, invalidOption, messageOf, verdictOf } from '../../job/errors.ts'
import type { Logger } from '../../job/logger.ts'
import { importModule } from '../../load/module.ts'
import { becomeThread, PROGRAM, type ThreadApp } from './inside.ts'
import {
  type ErrorParts,
  errorParts,
  type FromThread,
  type Level,
  type Run,
  type ThreadData,
  type ToThread,
} from './wire.ts'

/** Milliseconds between two messages with progress: a loop may report it at each step. */
const PROGRESS_MS = 100
const NO_STORE = "a thread can't reach a database in memory: push from the main thread, or use a database file"

const { files, url, inMemory, interrupted } = workerData as ThreadData
const flag = new Int32Array(interrupted)
const port = parentPort as NonNullable<typeof parentPort>
const send = (message: FromThread) => port.postMessage(message)

const log = logger({})
const apps = becomeThread()
let ctx: ThreadContext | undefined
void load().then(
  () => send({ loaded: true }),
  (thrown) => send({ broken: errorParts(thrown) }),
)

port.on('message', (message: ToThread) => {
  if ('run' in message) void run(message.run)
  else if ('abort' in message) ctx?.abort(message.abort.code, message.abort.message)
  else void close()
})

async function load(): Promise<void> {
  for (const file of files) await importModule(file)
  for (const app of apps) {
    if (url !== undefined) app[PROGRAM].useUrl(url)
    if (inMemory) app[PROGRAM].refuseStore(NO_STORE)
  }
}

async function run(job: Run): Promise<void> {
  const { payload, queue } = job
  const task = job.task && { ...job.task, add: refuseAdding, defer: refuseDeferring }
  const now = Date.now
  const isStopping = () => Atomics.load(flag, 0) !== 0
  let app: ThreadApp | undefined
  const parts: ContextParts = {
    ...{ log, loggedJobAttributes: [], now, isStopping },
    get batches() {
      return app?.[PROGRAM].batches
    },
  }
  const running = new ThreadContext(payload, queue, parts, task)
  running.args = job.args
  running.activeJob = job.activeJob
  ctx = running
  try {
    app = appWith(job.job, queue)
    const { [PROGRAM]: program } = app
    const handler = program.definitionOf(job.job, queue)?.handler as (ctx: JobContext, ...args: unknown[]) => unknown
    const handle = async () => {
      try {
        return await handler(running, ...running.args)
      } finally {
        running.sendProgress()
      }
    }
    finish(await (program.within ? program.within(payload, handle) : handle()))
  } catch (thrown) {
    const parts = errorParts(thrown)
    const judge = (error: unknown, about: ErrorParts) => {
      if (verdictOf(error) === undefined && app?.[PROGRAM].isBusiness(error)) about.members.highkiq = 'business-failure'
    }
    judge(thrown, parts)
    for (const [key, failure] of parts.failures ?? [])
      judge((thrown as BatchFailure).failures.get(key as number), failure)
    send({ failed: parts })
  } finally {
    ctx = undefined
  }
}

async function refuseAdding(): Promise<never> {
  throw invalidOption("ctx.task.add: a job with the option `thread` can't add rows; add them in a job without it")
}

async function refuseDeferring(): Promise<never> {
  throw invalidOption("ctx.defer: a job with the option `thread` can't be deferred; call it in a job without it")
}

function finish(result: unknown): void {
  try {
    send({ done: { result } })
  } catch (thrown) {
    send({ done: { result: undefined, problem: messageOf(thrown) } })
  }
}

/** @throws UNKNOWN_JOB */
function appWith(name: string, queue: string): ThreadApp {
  const [app, second] = [...apps].filter((one) => one[PROGRAM].definitionOf(name, queue))
  const where = files.join(', ')
  if (!app) {
    const message = `${where} defines no job ${JSON.stringify(name)} when it is loaded into a thread`
    throw new HighkiqError('UNKNOWN_JOB', message)
  }
  if (second) {
    const advice = 'name the file that defines it: thread: import.meta.url'
    throw new HighkiqError('UNKNOWN_JOB', `${where}: several apps have a job ${JSON.stringify(name)}; ${advice}`)
  }
  return app
}

async function close(): Promise<void> {
  await Promise.allSettled([...apps].map((app) => app.close()))
  process.exit()
}

/**
 * Sends messages and progress to the worker at once: the thread may be ended at any time. The worker assigns them to
 * the running job, so code that still runs after its job has ended sends nothing.
 */
class ThreadContext extends JobContext {
  #sent: Progress | undefined
  #sentAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  override get log(): Logger {
    return log
  }

  override message(text: string, row?: number): void {
    this.checkRow(row)
    if (ctx === this) send({ message: { text: String(text), row } })
  }

  override progress(done: number, total?: number, note?: string): void {
    super.progress(done, total, note)
    const pause = this.#sentAt + PROGRESS_MS - performance.now()
    if (pause <= 0 || done === total) this.sendProgress()
    else this.#timer ??= setTimeout(() => this.sendProgress(), pause)
  }

  /** Sends the last progress, unless it was sent before. */
  sendProgress(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { progressed } = this
    if (!progressed || progressed === this.#sent || ctx !== this) return
    this.#sent = progressed
    this.#sentAt = performance.now()
    send({ progress: progressed })
  }
}

function logger(fields: object): Logger {
  const at = (level: Level) => (what: object | string, text?: string) => {
    const [about, message] = typeof what === 'string' ? [{}, what] : [what, text]
    try {
      send({ log: { level, about: { ...fields, ...about }, message } })
    } catch {
      send({ log: { level, about: { ...fields, about: inspect(about) }, message } })
    }
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => logger({ ...fields, ...more }),
  }
}
