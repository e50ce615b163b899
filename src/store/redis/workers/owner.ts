/**
 * What this process knows of one owner: its fetched jobs by ticket, and which settlements had no answer. The keys on the
 * server decide; the difference to them shows the jobs of lost answers (lost-answers.ts).
 */

import { RenewedMap } from '../../../job/renewed-map.ts'
import type { FetchedJob } from '../../contract.ts'
import type { StopSignal } from '../server/blocking-connections.ts'

export interface HeldJob {
  queue: string
  ticket: number
  /** The text of a job that arrived during a wait: it is in the list of arrivals, not under its ticket. */
  arrival: string | undefined
  /** Whether a settlement of it had no answer. If the job is gone, that settlement was applied. */
  isUncertain: boolean
  /** The number of the last call that settled it. */
  call: number
}

/** A command that waits on the server for a job of one queue. */
export interface Wait {
  readonly queue: string
  readonly signal: StopSignal
  /** Gets the job, or why there is none. Without this function the job becomes undelivered. */
  onEnd: ((job: FetchedJob | undefined, thrown?: unknown) => void) | undefined
}

/** Until an owner has fetched, an answer holds few jobs, in case they are large. */
const FIRST_LARGEST = 100_000

/**
 * The difference between a ticket on the server and in this process. It is random, so that two processes have different
 * tickets; here they are small numbers, because numbers beyond 2^31 are slow to write, to read and to look up.
 */
const OFFSET = Math.floor(Math.random() * 2 ** 20) * 2 ** 32
/** One script fetches from at most this many queues. */
export const MAX_QUEUES = 50

/** The last reserved ticket. All owners of this process share it, so that no two of them have the same ticket. */
let lastTicket = 0

/** Reserves `n` tickets and returns the first one. Unused tickets are not reserved again. */
export function reserveTickets(n: number): number {
  const first = lastTicket + 1
  lastTicket += n
  return first
}

/** Returns the ticket on the server for one of this process. */
export function serverTicket(ticket: number): string {
  return String(OFFSET + ticket)
}

/** Returns tickets as the scripts read them: single ones, and ranges of consecutive ones such as `7-9`, with commas. */
export function rangesOf(jobs: readonly HeldJob[]): string {
  const ranges: string[] = []
  for (let i = 0; i < jobs.length; ) {
    const first = (jobs[i] as HeldJob).ticket
    let n = 1
    while (jobs[i + n]?.ticket === first + n) n++
    ranges.push(n > 1 ? `${serverTicket(first)}-${serverTicket(first + n - 1)}` : serverTicket(first))
    i += n
  }
  return ranges.join()
}

/** Returns the ticket in this process for one on the server. */
export function localTicket(ticket: string): number {
  return Number(ticket) - OFFSET
}

export class Owner {
  readonly name: string
  /** The queues of which it may hold jobs. */
  readonly queues: Set<string>
  readonly jobs = new RenewedMap<string, HeldJob>()
  /** The tickets of settled arrivals that the server need not remember any more, by queue. */
  readonly settledArrivals = new Map<string, number[]>()
  /**
   * Fetched jobs that no call has returned, because an answer was lost or nobody waited, the oldest ticket first. The next
   * settleAndFetch returns them, or they are requeued.
   */
  undelivered: FetchedJob[] = []
  /** Jobs that this process moves back to their queues; some may have arrived there already. */
  requeued: FetchedJob[] = []
  requeuing: Promise<void> | undefined
  /** The first and last ticket of each call without an answer so far. */
  readonly pendingTickets = new Set<readonly [number, number]>()
  readonly waits = new Set<Wait>()
  /** Waits begin only after this search. */
  reconciling: Promise<void> | undefined
  /** When the next search is due, on the monotonic clock, and the interval after it. */
  reconcileAt = Number.POSITIVE_INFINITY
  reconcileMs = 0
  /** The number of `settleAndFetch` steps that have begun to fetch. */
  steps = 0
  /** The version of the cancellations in the last answer. */
  version = 0
  /** The size of the largest text of the last jobs, in bytes: a guess of how many make a large answer. */
  largestBytes = FIRST_LARGEST
  /** How many queues, in the order asked, it took lately to fill a fetch; it falls by one a call. */
  queuesToFill = MAX_QUEUES
  /** Whether the owner leaves, so that it gets no further jobs. */
  left = false

  constructor(name: string, queues: Iterable<string>) {
    this.name = name
    this.queues = new Set(queues)
  }

  /** Registers a job that arrived during a wait. */
  arrived(queue: string, text: string): FetchedJob {
    return this.hold(queue, reserveTickets(1), text, text)
  }

  /** Registers a fetched job. */
  hold(queue: string, number: number, text: string, arrival?: string): FetchedJob {
    const ticket = String(number)
    this.jobs.set(ticket, { queue, ticket: number, arrival, isUncertain: false, call: 0 })
    return { queue, ticket, text }
  }

  addSettledArrivals(queue: string, ...tickets: number[]): void {
    const settled = this.settledArrivals.get(queue)
    if (settled) settled.push(...tickets)
    else this.settledArrivals.set(queue, tickets)
  }

  /** Returns at most `n` tickets for a call to remove on the server. A caller whose call fails adds them again. */
  drainSettledArrivals(queue: string, n: number): number[] {
    return this.settledArrivals.get(queue)?.splice(0, n) ?? []
  }

  /** Adds fetched jobs that no call has returned, in the order in which they were fetched. */
  addUndelivered(...jobs: readonly FetchedJob[]): void {
    this.undelivered.push(...jobs)
    this.undelivered.sort((a, b) => Number(a.ticket) - Number(b.ticket))
  }

  /** Returns at most `n` undelivered jobs of these queues, in the order of the queues. */
  drainUndelivered(queues: readonly string[], n: number): FetchedJob[] {
    if (this.undelivered.length === 0) return []
    const wanted = this.undelivered.filter(({ queue }) => queues.includes(queue))
    const drained = new Set(sortByQueue(wanted, queues).slice(0, n))
    this.undelivered = this.undelivered.filter((job) => !drained.has(job))
    return [...drained]
  }

  /** Forgets all jobs of an owner that has lost its lease. */
  forget(): void {
    this.jobs.clear()
    this.settledArrivals.clear()
    this.undelivered = []
    this.requeued = []
  }
}

/** Sorts the jobs of one fetch by the order of the queues that it names. Those of one queue keep their order. */
export function sortByQueue(jobs: FetchedJob[], queues: readonly string[]): FetchedJob[] {
  return jobs.sort((a, b) => queues.indexOf(a.queue) - queues.indexOf(b.queue))
}
