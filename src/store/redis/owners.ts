/** The owners of this process: what they take and settle, and what lost answers have left behind. */

import type { FetchedJob, JoinOptions, SettleAndFetch, SettleAndFetchAnswer } from '../contract.ts'
import type { Connection } from './connection.ts'
import type { Leases } from './leases.ts'
import { OldLeases } from './old-leases.ts'
import { Owner } from './owner.ts'
import type { Pauses } from './pauses.ts'
import { Reconciler } from './reconcile.ts'
import type { Server } from './server.ts'
import type { Tasks } from './tasks/tasks.ts'
import { Turns } from './turns.ts'
import { Waits } from './waits.ts'

/** Between looks for jobs that nobody was told of; sooner after an error. */
const RECONCILE_MS = 30_000
/** The server may go on serving a wait for so long after its client has gone. */
const AGAIN_MS = 3000
/** A wait whose client is gone is served for no longer. */
const SERVED_MS = 5000
/** What was found and is not wanted goes back to its queue. */
const UNWANTED_MS = 2000

export class Owners {
  readonly #server: Server
  readonly #leases: Leases
  readonly #oldLeases: OldLeases
  readonly #tasks: Tasks
  readonly #turns: Turns
  readonly #waits: Waits
  readonly #reconciler: Reconciler
  readonly #known = new Map<string, Owner>()
  /** Of owners that lost their lease. */
  readonly #lastQueues = new Map<string, ReadonlySet<string>>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #turnsConnection: Connection | undefined

  constructor(server: Server, leases: Leases, tasks: Tasks, pauses: Pauses) {
    this.#server = server
    this.#leases = leases
    this.#oldLeases = new OldLeases(server)
    this.#tasks = tasks
    const connection = () => this.#turnsLine()
    this.#turns = new Turns(server, connection, pauses)
    this.#waits = new Waits(server, pauses, {
      lost: () => this.#lost(),
      found: (owner) => this.#after(UNWANTED_MS, () => this.#giveBack(owner)),
      returning: (owner) => void this.#giveBack(owner),
    })
    this.#reconciler = new Reconciler(server, connection)
  }

  async settleAndFetch(name: string, turn: SettleAndFetch): Promise<SettleAndFetchAnswer> {
    const owner = await this.#ownerIn(name, turn.fetch.queues)
    if (!owner) return fencedTurn(turn)
    try {
      const answer = await this.#turns.run(owner, turn)
      if (answer.fenced) this.#fenced(owner)
      return answer
    } catch (thrown) {
      this.#lost()
      throw thrown
    }
  }

  async waitForJobs(
    name: string,
    queues: readonly string[],
    n: number,
    ms: number,
    signal: AbortSignal,
  ): Promise<FetchedJob[]> {
    const owner = await this.#ownerIn(name, queues)
    return owner ? this.#waits.run(owner, queues, n, ms, signal) : []
  }

  async join(name: string, about: JoinOptions): Promise<boolean> {
    if (about.isWorker) await this.#oldLeases.takeOver()
    if (!(await this.#leases.join(name, about.queues, about.seconds, about.host))) return false
    this.#keep(new Owner(name, about.queues))
    return true
  }

  /** Gives an owner that has a lease one in this queue, too. False: it has none. */
  async enter(name: string, queue: string): Promise<boolean> {
    return (await this.#ownerIn(name, [queue])) !== undefined
  }

  async release(name: string): Promise<boolean> {
    const owner = await this.#owner(name)
    if (!owner) return false
    owner.left = true
    // What it holds without knowing goes back before it is gone; else it must be claimed.
    await this.#reconciler.run(owner).catch(() => {})
    await this.#giveBack(owner)
    // The server may still serve a wait whose line broke: then it must be found among the claimed.
    if (this.#waits.brokeWithin(SERVED_MS)) {
      await this.claim(name, null)
      this.#known.delete(name)
      return false
    }
    const gone = await this.#leases.leave(owner)
    if (gone) this.#known.delete(name)
    else owner.left = false
    return gone
  }

  async claim(name: string, ends: number | null): Promise<boolean> {
    const claimed = await this.#leases.claim(name, ends, this.#lastQueues.get(name))
    this.#lastQueues.delete(name)
    if (claimed) await this.#tasks.interrupt(new Set([name]), Date.now())
    return claimed
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const owner of this.#known.values()) {
      owner.left = true
      for (const end of owner.waits) end()
    }
  }

  /** What this process knows of an owner; one that joined elsewhere is looked up. */
  async #owner(name: string): Promise<Owner | undefined> {
    const known = this.#known.get(name)
    if (known) return known
    const { queues } = await this.#leases.recordOf(name)
    if (queues.length === 0) return undefined
    return this.#known.get(name) ?? this.#keep(new Owner(name, queues))
  }

  /** Makes this process search now and then for jobs that the owner holds and no answer named. */
  #keep(owner: Owner): Owner {
    owner.reconcileMs = RECONCILE_MS
    this.#known.set(owner.name, owner)
    this.#reconcileIn(owner.name, RECONCILE_MS)
    return owner
  }

  /** The owner, entered in these queues; undefined: it has no lease. */
  async #ownerIn(name: string, queues: readonly string[]): Promise<Owner | undefined> {
    const owner = this.#known.get(name) ?? (await this.#owner(name))
    if (!owner) return undefined
    for (const queue of queues) {
      if (!owner.queues.has(queue) && !(await this.#leases.enter(owner, queue))) return undefined
    }
    return owner
  }

  /** It has no lease any more: nothing is waited for in its name, and where it was is known for its claim. */
  #fenced(owner: Owner): void {
    for (const end of owner.waits) end()
    this.#known.delete(owner.name)
    this.#lastQueues.set(owner.name, owner.queues)
  }

  #turnsLine(): Connection {
    this.#turnsConnection ??= this.#server.connect({ onLost: () => this.#lost() })
    return this.#turnsConnection
  }

  // --------------------------------------------------------------------------------------------- lost answers

  /** An answer may have been lost: what it told is looked for now, and soon again, for it may be on its way. */
  #lost(): void {
    for (const [name, owner] of this.#known) {
      owner.reconcileMs = AGAIN_MS
      void this.#reconcile(name)
      this.#reconcileIn(name, AGAIN_MS)
    }
  }

  async #reconcile(name: string): Promise<void> {
    const owner = this.#known.get(name)
    if (!owner || owner.left) return
    try {
      if (!(await this.#leases.holds(owner))) {
        this.#fenced(owner)
        return
      }
      await this.#reconciler.run(owner)
      if (owner.found.length > 0) this.#after(UNWANTED_MS, () => this.#giveBack(owner))
    } catch {
      this.#reconcileIn(name, AGAIN_MS)
    }
  }

  /** Looks then, and on, with growing gaps. An earlier look that is planned already stays. */
  #reconcileIn(name: string, ms: number): void {
    const owner = this.#known.get(name)
    const at = performance.now() + ms
    if (!owner || owner.reconcileAt <= at) return
    owner.reconcileAt = at
    this.#after(ms, async () => {
      if (owner.reconcileAt !== at) return
      owner.reconcileAt = Number.POSITIVE_INFINITY
      this.#reconcileIn(name, owner.reconcileMs)
      owner.reconcileMs = Math.min(owner.reconcileMs * 2, RECONCILE_MS)
      await this.#reconcile(name)
    })
  }

  /**
   * What was found goes back to the front of its queues, as it was, newest first. Once that was asked for, it is never
   * handed out: the request may be carried out late.
   */
  async #giveBack(owner: Owner): Promise<void> {
    owner.givingBack ??= this.#returnFound(owner).finally(() => {
      owner.givingBack = undefined
    })
    await owner.givingBack
  }

  async #returnFound(owner: Owner): Promise<void> {
    owner.returning.push(...owner.found.splice(0).reverse())
    const asked = [...owner.returning]
    if (asked.length === 0) return
    const settlements = asked.map(({ queue, ticket, text }) => ({
      queue,
      ticket,
      move: { to: 'queue', queue, text, end: 'front' } as const,
      processed: 0 as const,
      failed: 0 as const,
    }))
    const turn = { now: Date.now(), started: [], settlements, fetch: { queues: [], n: 0 } }
    const answer = await this.#turns.run(owner, turn).catch(() => undefined)
    const back = new Set(asked.filter((_, i) => answer && answer.settled[i] !== 'error'))
    owner.returning = owner.returning.filter((taken) => !back.has(taken))
    if (owner.returning.length > 0 && !owner.left) this.#after(UNWANTED_MS, () => this.#giveBack(owner))
  }

  #after(ms: number, work: () => unknown): void {
    if (this.#server.isClosed) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void work()
    }, ms).unref()
    this.#timers.add(timer)
  }
}

function fencedTurn({ started, settlements }: SettleAndFetch): SettleAndFetchAnswer {
  return {
    fenced: true,
    started: started.map(() => 'superseded'),
    settled: settlements.map(() => 'fenced'),
    fetched: [],
    cancellations: 0,
  }
}
