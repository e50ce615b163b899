/** What is shown to people. */

export interface StoreStats {
  processed: number
  failed: number
  enqueued: number
  /** Rows that wait inside their tasks, not counted in `enqueued`. */
  held: number
  /** Jobs that belong to an owner. */
  taken: number
  scheduled: number
  retries: number
  dead: number
}

export interface QueueInfo {
  name: string
  size: number
  /** Text of the job that is next; null when empty. */
  next: string | null
}

export interface ProcessRecord {
  identity: string
  /** JSON text: what does not change while the process lives. */
  info: string
  concurrency: number
  busy: number
  /** Milliseconds. */
  beat: number
  quiet: boolean
  /** kB. */
  rss: number
}

/** What a process works on, as it is shown to people. */
export interface RunningJob {
  /** Different for each of a process's running jobs. */
  slot: string
  queue: string
  text: string
  /** Milliseconds. */
  startedAt: number
  /** How far it has come, as its handler says. */
  progress?: { done: number; total?: number; note?: string }
}

export type Signal = 'TSTP' | 'TERM' | 'TTIN'

export interface BeatAnswer {
  /** The oldest signal that was sent to the process. */
  signal: Signal | null
  /** Whether it was shown before. */
  known: boolean
  /** Milliseconds that the store takes to answer; null where nobody is asked over a line. */
  rtt: number | null
}

/** What belongs to an owner. */
export interface Owned {
  owner: string
  queue: string
  text: string
}

export interface LookVerbs {
  /** What in the store's settings endangers jobs and what to do, in words for people; empty: nothing that can be seen. */
  advice(): Promise<string[]>
  stats(): Promise<StoreStats>
  /** Sets a total back to zero; the figures of the days stay. */
  resetStats(which: 'processed' | 'failed'): Promise<void>
  /** Processed and failed of each UTC day `YYYY-MM-DD`, in the order given. */
  history(days: readonly string[]): Promise<{ processed: number; failed: number }[]>
  /** All queues that are listed, by name; or these, in the order given, whether there is anything in them or not. */
  queues(only?: readonly string[]): Promise<QueueInfo[]>
  /** Texts of a queue, next to run first, from place `offset` on. */
  peek(queue: string, offset: number, limit: number): Promise<string[]>

  /** Shows a process, and what it works on, for the next `seconds`. */
  beat(process: ProcessRecord, seconds: number, running?: readonly RunningJob[]): Promise<BeatAnswer>
  processes(): Promise<ProcessRecord[]>
  forget(identity: string): Promise<void>
  /** False: no such process. */
  signal(identity: string, signal: Signal): Promise<boolean>
  /** What processes have shown that they work on, also those of other programs: up to a beat old. */
  running(): Promise<(RunningJob & { identity: string })[]>
  /** What belongs to owners now, in any order. */
  taken(page: { after?: string | undefined; limit: number }): Promise<{ items: Owned[]; next: string | null }>
  /** Identity of the process that leads, where somebody elects one (Sidekiq Enterprise does). */
  leader(): Promise<string | null>
}
