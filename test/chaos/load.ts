import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '#dist/job/errors.js'
import type { Task } from '#dist/tasks/task.js'
import type { chaosApp } from './jobs.js'
import { type KindName, kindOf, type Mix } from './kinds.ts'

/** Single pushes at the same time. */
const PUSHERS = 10
const SCHEDULED_SECONDS = 0.5
const AGAIN_MS = 20

export interface LoadOptions {
  jobs: number
  mix: Mix
  /** They come in so many parts … */
  waves: number
  /** … one after the other, within this many seconds. */
  seconds: number
}

/** Pushes jobs of all kinds in all ways: rows of tasks (one half), in bulk, one by one, and for later. */
export class Load {
  /** When each job could begin to run; absent: it is not known whether it was pushed. */
  readonly since = new Map<number, number>()
  /** Each task with its rows. */
  readonly tasks: { task: Task; rows: number[] }[] = []
  /** Pushes that were refused and made again. */
  refused = 0
  readonly jobs: number
  readonly #app: ReturnType<typeof chaosApp>
  readonly #options: LoadOptions

  constructor(app: ReturnType<typeof chaosApp>, options: LoadOptions) {
    this.#app = app
    this.#options = options
    this.jobs = options.jobs
  }

  kindOf(n: number): KindName {
    return kindOf(n, this.#options.mix)
  }

  async push(): Promise<void> {
    const { jobs, waves, seconds } = this.#options
    const size = Math.ceil(jobs / waves)
    const began = performance.now()
    const pushing: Promise<void>[] = []
    for (let wave = 0; wave < waves; wave++) {
      const wait = began + (wave / waves) * seconds * 1000 - performance.now()
      if (wait > 0) await sleep(wait)
      const numbers = Array.from({ length: Math.min(size, jobs - wave * size) }, (_, i) => wave * size + i)
      pushing.push(this.#wave(numbers))
    }
    await Promise.all(pushing)
  }

  async #wave(numbers: number[]): Promise<void> {
    const { Plain } = this.#app
    const part = (from: number, to: number) => numbers.slice(numbers.length * from, numbers.length * to)
    const singles = part(0.75, 0.9)
    const scheduled = part(0.9, 1)
    const pushers = Array.from({ length: PUSHERS }, async () => {
      for (let n = singles.pop(); n !== undefined; n = singles.pop()) {
        const args = this.#argsOf(n)
        await this.#pushed([n], () => Plain.performAsync(...args))
      }
      for (let n = scheduled.pop(); n !== undefined; n = scheduled.pop()) {
        const args = this.#argsOf(n)
        await this.#pushed([n], () => Plain.performIn(SCHEDULED_SECONDS, ...args), SCHEDULED_SECONDS * 1000)
      }
    })
    await Promise.all([this.#rows(part(0, 0.5)), this.#bulk(part(0.5, 0.75)), ...pushers])
  }

  async #rows(rows: number[]): Promise<void> {
    const all = rows.map((n) => this.#argsOf(n))
    await this.#insist(async () => {
      const at = Date.now()
      const task = await this.#app.hq.tasks.create(this.#app.Row, all)
      this.tasks.push({ task, rows })
      for (const n of rows) this.since.set(n, at)
    })
  }

  /** A thousand are stored in one step: their push is refused as one. */
  async #bulk(numbers: number[]): Promise<void> {
    for (let from = 0; from < numbers.length; from += 1000) {
      const some = numbers.slice(from, from + 1000)
      await this.#pushed(some, () => this.#app.Plain.performBulk(some.map((n) => this.#argsOf(n))))
    }
  }

  async #pushed(numbers: number[], push: () => Promise<unknown>, delay = 0): Promise<void> {
    await this.#insist(async () => {
      const at = Date.now()
      try {
        await push()
      } catch (thrown) {
        // Nobody knows whether these will run; whoever pushes them again would have some twice.
        if ((thrown as { maybePushed?: boolean }).maybePushed) return
        throw thrown
      }
      for (const n of numbers) this.since.set(n, at + delay)
    })
  }

  #argsOf(n: number): [number, string] {
    return [n, this.kindOf(n)]
  }

  /** Until it is stored. What is known to have stored nothing may be asked again. */
  async #insist(push: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await push()
      } catch (thrown) {
        if (!isRefusal(thrown)) throw thrown
      }
      this.refused++
      await sleep(AGAIN_MS)
    }
  }
}

function isRefusal(thrown: unknown): boolean {
  const away = (['PUSH_FAILED', 'STORE_UNREACHABLE', 'STORE_TIMEOUT'] as const).some((code) => hasCode(thrown, code))
  // An error that names a task tells of rows that are stored.
  return away && (thrown as { details?: { task?: string } }).details?.task === undefined
}
