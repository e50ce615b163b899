import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { now } from './app.js'

/** What is known of the push of a job. */
export const PUSH = { none: 0, begun: 1, stored: 2, unsure: 3, refused: 4 } as const

/** The run of jobs of a group, with times in microseconds. */
export interface Run {
  group: string
  numbers: number[]
  began: number
  /** Absent: its process died first. */
  ended?: number
  /** Its process lost its lease meanwhile, so another one may have begun before it ended. */
  isFenced?: boolean
}

/** The jobs of a task or of a batch. */
export interface Together {
  id: string
  from: number
  count: number
}

/** The journal of one process. */
interface File {
  isWorker: boolean
  pid: number
  offset: number
  rest: string
  /** When its loss was counted, as it was struck, in microseconds. It may not lose its lease all the same. */
  countedAt: number | undefined
  /** The jobs that run. */
  open: Set<number>
  /** How many have ended. */
  ended: number
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
  /** How often each job began, and ended. */
  readonly began: Uint8Array
  readonly ended: Uint8Array
  readonly tasks: Together[] = []
  readonly batches: Together[] = []
  /** The jid of each run of a callback, by its name and the batch, and of each run of a cron entry's job, by its tick. */
  readonly callbacks = new Map<string, string[]>()
  readonly ticks = new Map<number, string[]>()
  runs = 0
  /** Jobs that owners had when they died or lost their leases, and that may run again for that. */
  inFlight = 0
  lostOwners = 0
  readonly #folder: string
  readonly #mostUntold: { jobs: number; runs: number }
  readonly #files = new Map<string, File>()
  readonly #buffer = Buffer.alloc(BYTES)

  /** `mostUntold`: the jobs, and runs of groups, that ended but whose ends a process may not have settled yet. */
  constructor(folder: string, jobs: number, mostUntold: { jobs: number; runs: number }) {
    this.#folder = folder
    this.#mostUntold = mostUntold
    this.push = new Uint8Array(jobs)
    this.began = new Uint8Array(jobs)
    this.ended = new Uint8Array(jobs)
  }

  get groupedRuns(): Run[] {
    return [...this.#files.values()].flatMap(({ runs }) => runs)
  }

  /** Reads what is new. */
  read(): void {
    for (const name of readdirSync(this.#folder)) {
      const [, role, pid] = /^journal-(worker|pusher)-(\d+)-/.exec(name) ?? []
      if (!role) continue
      let file = this.#files.get(name)
      if (!file) {
        const isWorker = role === 'worker'
        const open = { open: new Set<number>(), ended: 0, openRuns: new Map(), runs: [] }
        file = { isWorker, pid: Number(pid), offset: 0, rest: '', countedAt: undefined, ...open }
        this.#files.set(name, file)
      }
      this.#readFile(`${this.#folder}/${name}`, file)
    }
  }

  /**
   * Counts an owner that was killed or frozen. The store had `jobs` jobs with it, and ids of the ordered queue in flight: those
   * of which it began versions may come again.
   */
  lose(pid: number, jobs: number, ids: readonly string[]): void {
    this.read()
    // The newest with this pid.
    const file = [...this.#files.values()].findLast((one) => one.pid === pid && one.isWorker)
    const last = ids.map((id) => file?.runs.findLast(({ group }) => group === `ordered:${id}`)?.numbers.length ?? 0)
    this.inFlight += last.reduce((sum, n) => sum + n, jobs)
    this.lostOwners++
    if (file) file.countedAt = now()
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
      file.ended++
    } else if (word === 'call') {
      const run: Run = { group: a, began: Number(b), numbers: numbers.split(',').map(Number) }
      file.runs.push(run)
      file.openRuns.set(`${what} ${a}`, run)
      for (const one of run.numbers) this.#begin(one, file, run.began)
    } else if (word === 'called') {
      const run = file.openRuns.get(`${what} ${a}`) as Run
      file.openRuns.delete(`${what} ${a}`)
      run.ended = Number(b)
      for (const one of run.numbers) add(this.ended, one)
    } else if (word === 'lost') {
      if (file.countedAt === undefined) this.#loseUnseen(file)
      file.countedAt = undefined
      for (const run of file.runs) if ((run.ended ?? Number.MAX_VALUE) > Number(a) - FENCED_US) run.isFenced = true
    } else if (word === 'task' || word === 'batch') {
      const all = word === 'task' ? this.tasks : this.batches
      all.push({ id: what, from: Number(a), count: Number(b) })
    } else if (word === 'callback') {
      listAt(this.callbacks, `${what} ${a}`).push(b)
    } else if (word === 'tick') {
      listAt(this.ticks, n).push(a)
    } else if (word === 'push' || word === 'stored' || word === 'unsure' || word === 'refused') {
      const state = word === 'push' ? PUSH.begun : PUSH[word]
      for (let i = n; i < n + Number(a); i++) if (this.push[i] !== PUSH.stored) this.push[i] = state
    }
  }

  #begin(n: number, file: File, at: number): void {
    add(this.began, n)
    this.runs++
    // It woke up with its lease, so a loss from now on is another one.
    if (at > (file.countedAt ?? at)) file.countedAt = undefined
  }

  /** Counts an owner that lost its lease on a busy machine: nobody has looked what the store had with it. */
  #loseUnseen(file: File): void {
    const { jobs, runs } = this.#mostUntold
    const ordered = file.runs.filter(({ group }) => group.startsWith('ordered:')).slice(-runs)
    const payloads = ordered.reduce((sum, { numbers }) => sum + numbers.length, 0)
    this.inFlight += file.open.size + Math.min(file.ended, jobs) + payloads
    this.lostOwners++
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
