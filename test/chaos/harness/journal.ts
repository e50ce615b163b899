import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { now } from './app.js'

/** What is known of the push of a job. */
export const PUSH = { none: 0, begun: 1, stored: 2, unsure: 3, refused: 4 } as const

/** One run of jobs of a group, with times in microseconds. */
export interface Run {
  group: string
  numbers: number[]
  began: number
  /** Undefined: its process died first. */
  ended?: number
  /** Its process lost its lease meanwhile, so another run may have begun before it ended. */
  isFenced?: boolean
}

/** The jobs of a task or of a batch: `count` numbers from `from` on. */
export interface JobRange {
  id: string
  from: number
  count: number
}

/** The jobs and ordered ids that the store has with a stopped worker. */
export interface InFlight {
  /** The numbers of its jobs. */
  jobs: readonly number[]
  /** Callbacks and jobs of cron entries, which have no number. */
  unnumbered: number
  /** Ids of ordered queues. */
  ids: readonly string[]
  /** Other workers may have got some of its jobs before the store was asked. */
  isLeaseLost: boolean
}

/** The journal of one process. */
interface File {
  isWorker: boolean
  pid: number
  offset: number
  rest: string
  /** When `countLost` counted it, in microseconds. A frozen process may keep its lease all the same. */
  countedAt: number | undefined
  /** The newest size of its heap in bytes, which only a soak notes. */
  heap: number | undefined
  /** The jobs that run. */
  open: Set<number>
  /** The jobs that have ended, in this order. */
  ended: number[]
  /** The runs of groups: those that have not ended by call and group, and all in their order. */
  openRuns: Map<string, Run>
  runs: Run[]
}

const BYTES = 1 << 20
/** A lease of one second is over, and others have seen it, long before. */
const FENCED_US = 10_000_000

/** What pushers and jobs wrote down, outside of the store. Only lines that are whole count. */
export class Journal {
  readonly push: Uint8Array
  /** How often each job was pushed: more than once if an answer was lost. */
  readonly pushes: Uint8Array
  /** How often each job began, ended, and failed as a version of an ordered id. */
  readonly began: Uint8Array
  readonly ended: Uint8Array
  readonly failed: Uint8Array
  /** How often each job may run again, because of workers that were stopped or lost their leases. */
  readonly mayRepeat: Uint8Array
  /** The same of callbacks and of jobs of cron entries, in all. */
  unnumberedMayRepeat = 0
  readonly tasks: JobRange[] = []
  readonly batches: JobRange[] = []
  /** The jid of each run of a callback, by its name and the batch, and of each run of a cron entry's job, by its tick. */
  readonly callbacks = new Map<string, string[]>()
  readonly ticks = new Map<number, string[]>()
  runs = 0
  /** Pushes that were repeated. */
  repeatedPushes = 0
  /** Jobs with numbers that workers had when they were stopped or lost their leases. */
  inFlight = 0
  lostOwners = 0
  readonly #folder: string
  readonly #mostUnsettled: number
  readonly #files = new Map<string, File>()
  readonly #buffer = Buffer.alloc(BYTES)

  /** `mostUnsettled`: how many jobs may have ended in a process without the store's knowledge. */
  constructor(folder: string, jobs: number, mostUnsettled: number) {
    this.#folder = folder
    this.#mostUnsettled = mostUnsettled
    this.push = new Uint8Array(jobs)
    this.pushes = new Uint8Array(jobs)
    this.began = new Uint8Array(jobs)
    this.ended = new Uint8Array(jobs)
    this.failed = new Uint8Array(jobs)
    this.mayRepeat = new Uint8Array(jobs)
  }

  get groupedRuns(): Run[] {
    return [...this.#files.values()].flatMap(({ runs }) => runs)
  }

  /** Returns the newest size of the heap of a process in bytes, if it has noted one. */
  heapOf(pid: number): number | undefined {
    return this.#newest(pid)?.heap
  }

  /** Reads what is new. */
  read(): void {
    for (const name of readdirSync(this.#folder)) {
      const [, role, pid] = /^journal-(worker|pusher)-(\d+)-/.exec(name) ?? []
      if (!role) continue
      let file = this.#files.get(name)
      if (!file) {
        const isWorker = role === 'worker'
        const open = { open: new Set<number>(), ended: [], openRuns: new Map(), runs: [] }
        file = { isWorker, pid: Number(pid), offset: 0, rest: '', countedAt: undefined, heap: undefined, ...open }
        this.#files.set(name, file)
      }
      this.#readFile(`${this.#folder}/${name}`, file)
    }
  }

  /** Counts a worker that is killed or frozen: the jobs that the store has with it may run again, once each. */
  countLost(pid: number, { jobs, unnumbered, ids, isLeaseLost }: InFlight): void {
    this.read()
    const file = this.#newest(pid)
    this.lostOwners++
    if (file && isLeaseLost) this.#countUnsettled(file, this.#fence(file, now() - FENCED_US))
    // Versions that it did not begin do not come again.
    const last = ids.flatMap((id) => file?.runs.findLast(({ group }) => group === `ordered:${id}`)?.numbers ?? [])
    this.#letRepeat([...jobs, ...last], unnumbered)
    if (file) file.countedAt = now()
  }

  /** Returns the newest file of a pid, because the system may give a pid twice. */
  #newest(pid: number): File | undefined {
    return [...this.#files.values()].findLast((one) => one.pid === pid)
  }

  #readFile(path: string, file: File): void {
    const descriptor = openSync(path, 'r')
    for (;;) {
      const length = readSync(descriptor, this.#buffer, 0, BYTES, file.offset)
      if (length === 0) break
      file.offset += length
      const lines = (file.rest + this.#buffer.toString('latin1', 0, length)).split('\n')
      file.rest = lines.pop() as string
      for (const line of lines) this.#add(file, line.split(' '))
    }
    closeSync(descriptor)
  }

  #add(file: File, [word, what = '', a = '', b = '', numbers = '']: string[]): void {
    const n = Number(what)
    if (word === 'began') {
      this.#begin(n, file, Number(a))
      file.open.add(n)
    } else if (word === 'ended') {
      add(this.ended, n)
      file.open.delete(n)
      file.ended.push(n)
    } else if (word === 'call') {
      const run: Run = { group: a, began: Number(b), numbers: numbers.split(',').map(Number) }
      file.runs.push(run)
      file.openRuns.set(`${what} ${a}`, run)
      for (const one of run.numbers) this.#begin(one, file, run.began)
    } else if (word === 'called' || word === 'failed') {
      const run = file.openRuns.get(`${what} ${a}`) as Run
      file.openRuns.delete(`${what} ${a}`)
      run.ended = Number(b)
      for (const one of run.numbers) add(word === 'called' ? this.ended : this.failed, one)
    } else if (word === 'heap') {
      file.heap = n
    } else if (word === 'lost') {
      this.#loseLease(file, Number(a))
    } else if (word === 'task' || word === 'batch') {
      const all = word === 'task' ? this.tasks : this.batches
      all.push({ id: what, from: Number(a), count: Number(b) })
    } else if (word === 'callback') {
      listAt(this.callbacks, `${what} ${a}`).push(b)
    } else if (word === 'tick') {
      listAt(this.ticks, n).push(a)
    } else if (word === 'push') {
      this.#changePushes(n, Number(a), PUSH.begun)
      if ((this.pushes[n] as number) > 0) this.repeatedPushes++
      for (let i = n; i < n + Number(a); i++) add(this.pushes, i)
    } else if (word === 'stored' || word === 'unsure' || word === 'refused') {
      this.#changePushes(n, Number(a), PUSH[word])
    }
  }

  #begin(n: number, file: File, at: number): void {
    add(this.began, n)
    this.runs++
    // The worker woke up with its lease, so a loss from now on is another one.
    if (at > (file.countedAt ?? at)) file.countedAt = undefined
  }

  #changePushes(from: number, count: number, state: number): void {
    for (let i = from; i < from + count; i++) if (this.push[i] !== PUSH.stored) this.push[i] = state
  }

  /** A process saw that its lease was lost: because it was frozen, or on a busy machine. */
  #loseLease(file: File, at: number): void {
    // The store said that it had its lease when it was counted.
    const fenced = this.#fence(file, file.countedAt ?? at - FENCED_US)
    if (file.countedAt === undefined) {
      this.lostOwners++
      this.#countUnsettled(file, fenced)
    }
    file.countedAt = undefined
  }

  /** Notes that others may have had what ended after `since` in a process. Returns these runs of groups. */
  #fence(file: File, since: number): Run[] {
    const fenced = file.runs.filter(({ ended }) => (ended ?? Number.MAX_VALUE) > since)
    for (const run of fenced) run.isFenced = true
    return fenced
  }

  /** Counts all that a process may have had: nobody asked the store in time. */
  #countUnsettled(file: File, fenced: readonly Run[]): void {
    const jobs = [...file.open, ...file.ended.slice(-this.#mostUnsettled)]
    this.#letRepeat([...jobs, ...fenced.flatMap(({ numbers }) => numbers)], this.#mostUnsettled)
  }

  #letRepeat(jobs: readonly number[], unnumbered: number): void {
    for (const n of jobs) add(this.mayRepeat, n)
    this.unnumberedMayRepeat += unnumbered
    this.inFlight += jobs.length
  }
}

/** Counts up to 255. */
function add(counts: Uint8Array, n: number): void {
  counts[n] = Math.min((counts[n] as number) + 1, 255)
}

function listAt<Key>(lists: Map<Key, string[]>, key: Key): string[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}
