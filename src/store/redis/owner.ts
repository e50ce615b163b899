/**
 * What this process knows of one owner: the jobs that it was handed, by ticket, and what was told of them without an
 * answer. The server's hashes and lists have the truth; this tells what a lost answer left behind (reconcile.ts).
 */

import type { FetchedJob } from '../contract.ts'

export interface Held {
  queue: string
  /** Text of a job that came while its owner waited: it lies in the list of arrivals, not under its ticket. */
  arrival?: string
  /** Its end was told and no answer came: if it is gone, that was it. */
  unsure: boolean
}

/** Tickets are drawn from here by all owners of this process, so that no two owners ever have the same. */
let nextTicket = Math.floor(Math.random() * 2 ** 20) * 2 ** 32

/** The first of `n` tickets. They are never given back, whatever comes of them. */
export function drawTickets(n: number): number {
  const first = nextTicket + 1
  nextTicket += n
  return first
}

export class Owner {
  readonly name: string
  /** The queues in which it is entered. */
  readonly queues: Set<string>
  readonly held = new Map<string, Held>()
  /** Settled arrivals whose mark can be dropped, by queue. */
  readonly marks = new Map<string, string[]>()
  /** Jobs that are its own and that nobody was told of: they are handed out next. */
  found: FetchedJob[] = []
  /** Jobs that are on their way back to their queues; whether they got there is not known of all. */
  returning: FetchedJob[] = []
  givingBack: Promise<void> | undefined
  /** First and last ticket of the calls that are under way. */
  readonly underWay = new Set<readonly [number, number]>()
  /** Ends the waits of this owner. */
  readonly waits = new Set<() => void>()
  /** Waits don't begin before this is over. */
  reconciling: Promise<void> | undefined
  /** When the next look is due, on the monotonic clock, and how long after it the one behind. */
  reconcileAt = Number.POSITIVE_INFINITY
  reconcileMs = 0
  /** Of the marks of cancelled jobs, as the last turn told it. */
  version = 0
  left = false

  constructor(name: string, queues: Iterable<string>) {
    this.name = name
    this.queues = new Set(queues)
  }

  /** A job that came while the owner waited. */
  arrived(queue: string, text: string): FetchedJob {
    const ticket = String(drawTickets(1))
    this.held.set(ticket, { queue, arrival: text, unsure: false })
    return { queue, ticket, text }
  }

  mark(queue: string, ...tickets: string[]): void {
    const marks = this.marks.get(queue)
    if (marks) marks.push(...tickets)
    else this.marks.set(queue, tickets)
  }

  /** At most `n` marks that a call drops; whoever makes it gives them back if it fails. */
  takeMarks(queue: string, n: number): string[] {
    return this.marks.get(queue)?.splice(0, n) ?? []
  }

  /** At most `n` of the jobs that were found, of these queues. */
  handOver(queues: readonly string[], n: number): FetchedJob[] {
    if (this.found.length === 0) return []
    const handed: FetchedJob[] = []
    this.found = this.found.filter((taken) => {
      if (handed.length >= n || !queues.includes(taken.queue)) return true
      handed.push(taken)
      return false
    })
    return handed
  }

  /** Its lease was lost: nothing is its own any more. */
  forget(): void {
    this.held.clear()
    this.marks.clear()
    this.found = []
    this.returning = []
  }
}
