import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Highkiq, type HighkiqOptions, type Logger, type Payload, type Worker, type WorkerOptions } from 'highkiq'
import { expect, onTestFinished } from 'vitest'

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error'
  about: Record<string, unknown>
  message: string
}

/** Each worker on the PostgreSQL server of these tests warns of this setting, whatever the test is about. */
const SETTING_OF_SERVER = /: fsync is off,/

/** A logger that keeps its lines, except the warning of that setting. */
export function recorder(lines: LogLine[] = [], fields: object = {}): Logger & { lines: LogLine[] } {
  const at = (level: LogLine['level']) => (what: object | string, text?: string) => {
    const [about, message = ''] = typeof what === 'string' ? [{}, what] : [what, text]
    if (!SETTING_OF_SERVER.test(message)) lines.push({ level, about: { ...fields, ...about }, message })
  }
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => recorder(lines, { ...fields, ...more }),
  }
}

/** Collects values for the test, which waits until it has so many. */
export class Collector<T = unknown> {
  readonly all: T[] = []
  #waiting: { n: number; resolve: (all: T[]) => void }[] = []

  /** Bound, so that it can be passed as a callback. */
  add = (value: T): void => {
    this.all.push(value)
    for (const waiting of this.#waiting) if (this.all.length >= waiting.n) waiting.resolve(this.all)
    this.#waiting = this.#waiting.filter(({ n }) => n > this.all.length)
  }

  /** Resolves to all values, once there are `n`. */
  atLeast(n: number): Promise<T[]> {
    return this.all.length >= n
      ? Promise.resolve(this.all)
      : new Promise((resolve) => this.#waiting.push({ n, resolve }))
  }
}

/** A promise that the test keeps pending until it resolves it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** Checks a condition again and again until it holds. The test's own time limit ends it. */
export async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await sleep(5)
}

/** Waits for what takes at most `seconds` on a quiet machine, and expects it within five times that. */
export async function promptly<T>(seconds: number, work: Promise<T>): Promise<T> {
  const before = performance.now()
  const result = await work
  expect(performance.now() - before).toBeLessThan(5000 * seconds)
  return result
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

export interface Found extends Payload {
  score: number
  text: string
}

export interface Bench {
  hq: Highkiq
  url: string
  log: ReturnType<typeof recorder>
  /** The errors that `onError` got. */
  errors: { error: Error & { code?: string }; about: Record<string, unknown> }[]
  /** The app's time runs this many seconds ahead. */
  clock: { ahead: number; now(): number }
  /** A worker that has started; jobs that are due are moved every 20 ms. */
  work(options?: WorkerOptions): Promise<Worker>
  /** Another app on the same file, as another process would have it. */
  another(options?: HighkiqOptions): Bench
  set(name: 'retry' | 'schedule' | 'dead'): Promise<Found[]>
  queue(name?: string): Promise<Payload[]>
  /** Puts a text into a queue as another program would. */
  raw(text: string, queue?: string): Promise<void>
  /** Resolves when no job is in a queue or with a worker, and all jobs are settled. */
  settled(): Promise<void>
}

/** Returns the store on which the suites that know nothing of stores run: see the projects in vitest.config.ts. */
export function storeOfSuite(): 'SQLite' | 'Redis' | 'PostgreSQL' | 'shards' {
  if (process.env.HIGHKIQ_TEST_SHARDS) return 'shards'
  if (process.env.HIGHKIQ_TEST_POSTGRES) return 'PostgreSQL'
  return process.env.HIGHKIQ_TEST_REDIS ? 'Redis' : 'SQLite'
}

let databases = 0
/** Returns the URL of an empty store that is ready; see postgres.setup.ts. */
export const databasesOfPostgres = { next: (): string | undefined => undefined }

/** Returns a job for each of so many queues, `q0` and so on, as the store takes them. */
export function jobsOfQueues(queues: number) {
  return Array.from({ length: queues }, (_, n) => {
    const [queue, jid] = [`q${n}`, `jid-of-${n}`]
    return { to: 'queue', queue, text: JSON.stringify({ class: 'Other', args: [n], queue, jid }), end: 'back' } as const
  })
}

/** The URL of an empty store of its own, where the suite runs on a server of Redis or PostgreSQL; else undefined. */
export function database(): string | undefined {
  const { HIGHKIQ_TEST_REDIS: redis, HIGHKIQ_TEST_POSTGRES: postgres } = process.env
  if (postgres) return databasesOfPostgres.next() ?? `${postgres}?schema=engine_${process.pid}_${databases++}`
  // The server has 10,000, and is emptied before each file.
  return redis && `${redis}/${(databases++ % 9999) + 1}`
}

/** An app on an empty file of its own (or on `url`) with a quiet logger and no jitter; closed at the end of the test. */
export function bench(options: HighkiqOptions & { query?: string } = {}): Bench {
  const { query = '', ...rest } = options
  let url = rest.url
  if (!url && query === '') url = database()
  if (!url) {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-engine-'))
    const urls = storeOfSuite() === 'shards' ? ['a', 'b'] : ['jobs']
    url = urls.map((name) => `sqlite:${folder}/${name}.db${query}`).join(' ')
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  }
  const log = recorder()
  const clock = { ahead: 0, now: () => Date.now() + clock.ahead * 1000 }
  const hq = new Highkiq({ logger: log, random: () => 0, clock, ...rest, url })
  onTestFinished(() => hq.close())
  const errors: Bench['errors'] = []
  hq.onError((error, about) => errors.push({ error: error as Error, about }))
  return {
    hq,
    url,
    log,
    errors,
    clock,
    async work(about = {}) {
      // The queues are explicit, since the stores differ in their default.
      const worker = hq.worker({ queues: ['default'], pollInterval: 0.02, timeout: 5, ...about })
      await worker.start()
      return worker
    },
    another: (more = {}) => bench({ ...rest, ...more, url }),
    async set(name) {
      const entries = await hq.store.jobSets.page(name, { limit: 1000 })
      return entries.map(({ text, score }) => ({ ...asPayload(text), score, text }))
    },
    async queue(name = 'default') {
      return (await hq.store.jobs.peek(name, 0, 1000)).map(asPayload)
    },
    async raw(text, queue = 'default') {
      await hq.store.jobs.push([{ to: 'queue', queue, text, end: 'back' }], clock.now())
    },
    async settled() {
      await until(async () => {
        const { enqueued, backlog, fetched: taken } = await hq.store.metrics.totals()
        return enqueued + backlog + taken === 0
      })
    },
  }
}

function asPayload(text: string): Payload {
  try {
    return JSON.parse(text) as Payload
  } catch {
    return { class: '', args: [], queue: '', jid: '' }
  }
}

/** A line of JSON that a child process writes. */
export interface ChildMessage {
  /** What has happened. */
  type: string
  pid: number
  [field: string]: unknown
}

/** A process that works: child.js (or another) URL OPTIONS. Its messages are read; it is killed at the end of the test. */
export class Child {
  readonly process: ChildProcess
  readonly messages = new Collector<ChildMessage>()
  readonly exited: Promise<{ code: number | null; signal: string | null }>
  #waiting: { type: string; n: number; resolve: (messages: ChildMessage[]) => void }[] = []

  /** `flags` are those of Node. */
  constructor(url: string, options: Record<string, unknown> = {}, program = 'child.js', flags: readonly string[] = []) {
    const path = fileURLToPath(new URL(program, import.meta.url))
    this.process = spawn(process.execPath, [...flags, path, url, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void this.process.kill('SIGKILL'))
    this.exited = once(this.process, 'close').then(([code, signal]) => ({ code, signal }))
    createInterface({ input: this.process.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.messages.add(JSON.parse(line))
      for (const waiting of this.#waiting) {
        const found = this.all(waiting.type)
        if (found.length >= waiting.n) waiting.resolve(found)
      }
    })
  }

  all(type: string): ChildMessage[] {
    return this.messages.all.filter((message) => message.type === type)
  }

  /** Resolves to all messages of this type, once there are `n`. */
  waitFor(type: string, n = 1): Promise<ChildMessage[]> {
    const found = this.all(type)
    return found.length >= n
      ? Promise.resolve(found)
      : new Promise((resolve) => this.#waiting.push({ type, n, resolve }))
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /**
   * Stops it (SIGSTOP), but not while it holds the file's lock: then nobody else could write, and it is stopped another
   * time. `when` resolves at such a time.
   */
  async freeze({ hq }: Bench, when: () => Promise<unknown> = async () => {}): Promise<void> {
    for (;;) {
      await when()
      this.kill('SIGSTOP')
      const written = hq.store.workers.releaseLock('nothing', 'nobody').then(() => true)
      if (await Promise.race([written, sleep(500, false)])) return
      this.kill('SIGCONT')
      await written
    }
  }
}
