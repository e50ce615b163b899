import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Crew } from '../crew.ts'
import { type Journal, PUSH } from './journal.ts'

const PROGRAM = fileURLToPath(new URL('pusher.js', import.meta.url))
/** The chunks that a process pushes at the same time. */
const AT_ONCE = 4

interface Chunk {
  /** The number of its first job, whatever was pushed before. */
  id: number
  size: number
  workload: string
  /** One of the six ways to push (pusher.js); from the third on a push may be repeated. */
  way: number
  from: number
  count: number
}

export interface PushersOptions {
  url: string
  folder: string
  processes: number
  chunks: readonly { workload: string; from: number; count: number }[]
  journal: Journal
  args: readonly string[]
  env: (() => Record<string, string>) | undefined
}

/** Processes that push jobs, chunk by chunk. When one is killed, another one continues its chunks. */
export class Pushers {
  readonly crew: Crew
  readonly #journal: Journal
  readonly #held: Chunk[]
  #waiting: Chunk[] = []
  readonly #assigned = new Map<ChildProcess, Map<number, Chunk>>()
  #unfinished: number

  constructor({ url, folder, processes, chunks, journal, args, env }: PushersOptions) {
    this.#journal = journal
    const chunksOf = new Map<string, number>()
    this.#held = chunks.map((chunk) => {
      const before = chunksOf.get(chunk.workload) ?? 0
      chunksOf.set(chunk.workload, before + 1)
      return { ...chunk, id: chunk.from, size: chunk.count, way: before % 6 }
    })
    this.#unfinished = chunks.length
    const joined = (child: ChildProcess) => this.#join(child)
    this.crew = new Crew({ url, folder, processes, concurrency: AT_ONCE, program: PROGRAM, args, env, joined })
  }

  /** Whether all chunks are pushed. */
  get isDone(): boolean {
    return this.#unfinished === 0
  }

  /** The jobs of the chunks that are released and not pushed. */
  get behind(): number {
    const assigned = [...this.#assigned.values()].flatMap((chunks) => [...chunks.values()])
    return [...this.#waiting, ...assigned].reduce((sum, { count }) => sum + count, 0)
  }

  /** Pushes also the chunks that begin with jobs below this number. */
  release(below: number): void {
    while ((this.#held[0]?.from ?? below) < below) this.#waiting.push(this.#held.shift() as Chunk)
    this.#assign()
  }

  #join(child: ChildProcess): void {
    const chunks = new Map<number, Chunk>()
    this.#assigned.set(child, chunks)
    // It may die before it gets a message.
    child.on('error', () => {})
    child.on('message', (id: number) => {
      if (chunks.delete(id)) this.#unfinished--
      this.#assign()
    })
    child.once('close', () => {
      this.#assigned.delete(child)
      // The last ones close after the round, whose journal is gone then.
      if (chunks.size === 0) return
      this.#journal.read()
      this.#waiting.unshift(...[...chunks.values()].map((chunk) => this.#restOf(chunk)))
      this.#assign()
    })
    this.#assign()
  }

  #assign(): void {
    for (const [child, chunks] of this.#assigned) {
      while (child.connected && chunks.size < AT_ONCE && this.#waiting.length > 0) {
        const chunk = this.#waiting.shift() as Chunk
        chunks.set(chunk.id, chunk)
        child.send(chunk, () => {})
      }
    }
  }

  /** What a killed process has not pushed: with an id also jobs of which it did not know whether they were stored. */
  #restOf(chunk: Chunk): Chunk {
    const { workload, way } = chunk
    const isOnce = ['tracked', 'batches', 'flows'].includes(workload)
    const mayRepeat = ['ordered', 'unique'].includes(workload) || (way >= 2 && !isOnce)
    const end = chunk.id + chunk.size
    const isPushed = (n: number) => {
      const state = this.#journal.push[n]
      return state === PUSH.stored || state === PUSH.refused || (!mayRepeat && state !== PUSH.none)
    }
    let { from } = chunk
    while (from < end && isPushed(from)) from++
    return { ...chunk, from, count: end - from }
  }
}
