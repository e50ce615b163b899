import type { AppPort } from '../app/port.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { isObject } from '../job/json.ts'
import { checkSlots, type SlotOptions } from '../job/slots.ts'
import type { ProcessRecord, RunningJob, Signal, Store } from '../store/contract.ts'
import { textsOf } from './record.ts'

/** All processes send a heartbeat every 10 seconds, Sidekiq's too. */
const SILENT_MS = 25_000
/** The last second that a Date can represent; it can represent as many before 1970. */
const LAST_SECOND = 8.64e12

export interface CapsuleInfo {
  concurrency: number
  mode: string
  /** The weight of each queue, by its name. */
  weights: Record<string, number>
}

/** A worker process (Highkiq or Sidekiq) as of its last heartbeat. */
export class Process {
  readonly identity: string
  readonly hostname: string
  readonly pid: number
  readonly tag: string
  readonly labels: string[]
  readonly queues: string[]
  /** The queues that the jobs of the process's app name; empty for a Sidekiq process. */
  readonly definedQueues: string[]
  /** The `maxLength` of each queue that has one in the process's app, by its name. */
  readonly maxLengths: Record<string, number>
  /** For each capsule, the weight of each queue by its name. */
  readonly weights: Record<string, number>[]
  readonly capsules: Record<string, CapsuleInfo>
  readonly version: string
  /** Whether it is a Highkiq process, not a Sidekiq process. */
  readonly ours: boolean
  /** Whether the worker runs inside another program. Then only its concurrency can be changed from outside. */
  readonly embedded: boolean
  readonly busy: number
  /** The number of jobs and batches of ordered queues that it can run at the same time. */
  readonly concurrency: number
  /** The part of `concurrency` that runs batches of ordered queues. */
  readonly orderedConcurrency: number
  /** Resident memory, in kB. */
  readonly rss: number
  /** Whether it fetches no more jobs. In JSON: `quiet`. */
  readonly isQuiet: boolean
  /** Whether it is the leader (Sidekiq Enterprise only). */
  readonly leader: boolean
  readonly startedAt: Date
  /** The time of its last heartbeat. */
  readonly beat: Date
  readonly #store: Store

  constructor(store: Store, record: ProcessRecord, leader: string | null, info = infoOf(record.info)) {
    this.#store = store
    this.identity = record.identity
    this.hostname = textOf(info.hostname)
    this.pid = numberOf(info.pid)
    this.tag = textOf(info.tag)
    this.labels = textsOf(info.labels)
    this.queues = textsOf(info.queues)
    this.definedQueues = textsOf(info.defined_queues)
    this.maxLengths = isObject(info.max_lengths) ? numbersOf(info.max_lengths) : {}
    // Sidekiq before 7.0.3 stores one object for all queues.
    this.weights = (Array.isArray(info.weights) ? info.weights : [info.weights]).filter(isObject).map(numbersOf)
    this.capsules = capsulesOf(info.capsules)
    this.version = textOf(info.version)
    this.ours = info.highkiq !== undefined
    this.embedded = info.embedded === true
    this.busy = record.busy
    this.concurrency = record.concurrency
    this.orderedConcurrency = numberOf(info.ordered_concurrency)
    this.rss = record.rss
    this.isQuiet = record.quiet
    this.leader = leader === record.identity
    this.startedAt = new Date(Math.max(-LAST_SECOND, Math.min(numberOf(info.started_at), LAST_SECOND)) * 1000)
    this.beat = new Date(record.beat)
  }

  /** Returns its state. A silent process has missed two heartbeats. The store removes it after a minute. */
  stateAt(now: number): 'live' | 'quiet' | 'silent' {
    if (now - this.beat.getTime() > SILENT_MS) return 'silent'
    return this.isQuiet ? 'quiet' : 'live'
  }

  /**
   * Makes it quiet: it fetches no more jobs, and running jobs go on. Resolves with false if the process is gone.
   * @throws EMBEDDED_PROCESS
   */
  async quiet(): Promise<boolean> {
    return this.#send('TSTP')
  }

  /** Stops it, like SIGTERM. Resolves with false if the process is gone. @throws EMBEDDED_PROCESS */
  async stop(): Promise<boolean> {
    return this.#send('TERM')
  }

  /** Makes it log its running jobs. Resolves with false if the process is gone. @throws EMBEDDED_PROCESS */
  async dumpTrace(): Promise<boolean> {
    return this.#send('TTIN')
  }

  /**
   * Changes how many jobs one of its capsules runs at the same time, until it ends. Resolves with false if the process is
   * gone.
   *
   * @example await process.set({ concurrency: 20 })
   * @throws INVALID_OPTION, also for a process of Sidekiq
   */
  async set(options: SlotOptions): Promise<boolean> {
    if (!this.ours) {
      throw invalidOption(
        `${this.identity} is a process of Sidekiq, which can't change its concurrency while it runs`,
        {
          problem: 'sidekiq-process',
        },
      )
    }
    const { concurrency, capsule } = checkSlots(this.identity, options, Object.keys(this.capsules))
    return this.#store.workers.signal(this.identity, `CONCURRENCY ${concurrency} ${capsule}`)
  }

  toJSON(): Record<string, unknown> {
    const { isQuiet, ...rest } = this
    return { ...rest, quiet: isQuiet }
  }

  /** A change of the concurrency leaves the program alone; these signals could end it. */
  #send(signal: Signal): Promise<boolean> {
    if (!this.embedded) return this.#store.workers.signal(this.identity, signal)
    throw new HighkiqError('EMBEDDED_PROCESS', `${this.identity} is part of another program: quiet or stop it there`)
  }
}

export interface ProcessTotals {
  processes: number
  /** The number of jobs that they can run at the same time. */
  concurrency: number
  busy: number
  /** Resident memory of all processes, in kB. */
  rss: number
}

/** `hq.processes()`: the running worker processes (Highkiq and Sidekiq), by identity, as of their last heartbeats. */
export class ProcessSet implements AsyncIterable<Process> {
  readonly #app: Pick<AppPort, 'store'>

  constructor(app: Pick<AppPort, 'store'>) {
    this.#app = app
  }

  async size(): Promise<number> {
    return (await this.#app.store.workers.processes()).length
  }

  /** Resolves with the process of this identity; null when there is none. */
  async find(identity: string): Promise<Process | null> {
    return (await processesOf(this.#app.store)).find((process) => process.identity === identity) ?? null
  }

  async totals(): Promise<ProcessTotals> {
    const all = await this.#app.store.workers.processes()
    const sum = (of: 'concurrency' | 'busy' | 'rss') => all.reduce((total, process) => total + process[of], 0)
    return { processes: all.length, concurrency: sum('concurrency'), busy: sum('busy'), rss: sum('rss') }
  }

  /** Returns the queues that the jobs of an app name and no process serves. A quiet process serves none. */
  async unservedQueues(): Promise<string[]> {
    return unservedQueues(await processesOf(this.#app.store))
  }

  /** Resolves with the identity of the leader (Sidekiq Enterprise only); null when there is none. */
  leader(): Promise<string | null> {
    return this.#app.store.workers.leader()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Process> {
    yield* await processesOf(this.#app.store)
  }
}

type Serving = Readonly<Pick<Process, 'capsules' | 'isQuiet'>> & Record<'queues' | 'definedQueues', readonly string[]>

export function serves({ queues, capsules }: Pick<Serving, 'queues' | 'capsules'>, queue: string): boolean {
  return queues.includes(queue) || Object.values(capsules).some(({ weights }) => Object.hasOwn(weights, queue))
}

/** Returns the queues that a process serves. */
export function servedBy({ queues, capsules }: Pick<Serving, 'queues' | 'capsules'>): Set<string> {
  return new Set([...queues, ...Object.values(capsules).flatMap(({ weights }) => Object.keys(weights))])
}

/** Returns the queues from which these processes fetch jobs. A quiet process fetches none. */
export function fetchedQueues(processes: readonly Omit<Serving, 'definedQueues'>[]): Set<string> {
  return new Set(processes.flatMap((process) => (process.isQuiet ? [] : [...servedBy(process)])))
}

/**
 * Returns the queues that the jobs of these processes' apps name and none of the processes serves. A quiet process
 * serves none.
 */
export function unservedQueues(processes: readonly Serving[], served = fetchedQueues(processes)): string[] {
  const defined = new Set(processes.flatMap(({ definedQueues }) => definedQueues))
  return [...defined].filter((queue) => !served.has(queue))
}

/** Returns the `maxLength` of each queue that has one in an app of these processes: the lowest, where the apps differ. */
export function maxLengthsOf(processes: readonly Process[]): Map<string, number> {
  const lowest = new Map<string, number>()
  for (const [queue, most] of processes.flatMap(({ maxLengths }) => Object.entries(maxLengths))) {
    lowest.set(queue, Math.min(most, lowest.get(queue) ?? most))
  }
  return lowest
}

/** Returns how many jobs of a queue a process can run at the same time. */
export function slotsFor(process: Process, queue: string): number {
  const serving = Object.values(process.capsules).filter(({ weights }) => Object.hasOwn(weights, queue))
  if (serving.length > 0) return serving.reduce((sum, { concurrency }) => sum + concurrency, 0)
  return serves(process, queue) ? process.concurrency : 0
}

/** Resolves with all worker processes, by identity. */
export async function processesOf(store: Store, readInfo = infoOf): Promise<Process[]> {
  const [records, leader] = await Promise.all([store.workers.processes(), store.workers.leader()])
  return records.map((record) => new Process(store, record, leader, readInfo(record.info)))
}

/**
 * Returns the jobs that processes of other programs run, such as Sidekiq's, as of their last heartbeats. null: there is no such
 * process.
 */
export async function runningInOthers(store: Store): Promise<RunningJob[] | null> {
  const others = new Set((await processesOf(store)).flatMap(({ ours, identity }) => (ours ? [] : [identity])))
  return others.size === 0 ? null : (await store.workers.running()).filter(({ identity }) => others.has(identity))
}

/** Returns the description of a process; an unreadable one counts as empty. */
export function infoOf(text: string): Record<string, unknown> {
  try {
    const info: unknown = JSON.parse(text)
    return isObject(info) ? info : {}
  } catch {
    return {}
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Another program may have written any value. */
function numberOf(value: unknown): number {
  const number = typeof value === 'object' ? 0 : Number(value)
  return Number.isFinite(number) ? number : 0
}

function numbersOf(object: Record<string, unknown>): Record<string, number> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, numberOf(value)]))
}

function capsulesOf(value: unknown): Record<string, CapsuleInfo> {
  const capsules = Object.entries(isObject(value) ? value : {})
  return Object.fromEntries(
    capsules.flatMap(([name, capsule]) => {
      if (!isObject(capsule)) return []
      const { concurrency, mode, weights } = capsule
      const about = { concurrency: numberOf(concurrency), mode: textOf(mode) }
      return [[name, { ...about, weights: numbersOf(isObject(weights) ? weights : {}) }]]
    }),
  )
}
