import { expect } from 'vitest'
import type { FetchedJob, SettleAndFetchAnswer, Settlement, Started } from '#dist/store/contract.js'
import { done } from '../../conformance/bench.ts'
import type { Stage } from './stage.ts'

const NEVER = new AbortController().signal
const ENOUGH_MS = 15_000
/** A connection that is cut is noticed at once, and not only when commands are given up. */
const SOON_MS = 3000

/** How long, at worst, after a fault a job was handed out that was there. */
export const longest = { ms: 0 }

/** Works as a worker does: keeps what it was handed, and tells again what nobody answered. */
export class Hand {
  readonly owner: string
  readonly queues: string[]
  readonly running: FetchedJob[] = []
  /** Texts of all that it was handed. */
  readonly handed: string[] = []
  /** Settlements that were refused. */
  readonly fenced: Settlement[] = []
  /** It was struck off in the end. */
  left = false
  /** Of the store. */
  readonly complaints: string[] = []
  readonly #stage: Stage
  readonly #tickets = new Set<string>()
  #untold: Settlement[] = []
  #started: Started[] = []

  constructor(stage: Stage, owner: string, queues: string[]) {
    this.#stage = stage
    this.owner = owner
    this.queues = queues
  }

  /** Settles what it tells to; all that it was handed is running until then. */
  async turn(what: { settle?: Settlement[]; started?: Started[]; n?: number } = {}): Promise<SettleAndFetchAnswer> {
    const { settle = [], n = 0 } = what
    const settlements = [...this.#untold, ...settle]
    const started = [...this.#started, ...(what.started ?? [])]
    const ended = new Set(settle.map(({ ticket }) => ticket))
    this.running.splice(0, Infinity, ...this.running.filter(({ ticket }) => !ended.has(ticket)))
    this.#untold = []
    this.#started = []
    const fetch = { queues: this.queues, n }
    const turn = { now: Date.now(), started, settlements, fetch }
    const answer = await this.#stage.store.workers.settleAndFetch(this.owner, turn).catch((thrown) => {
      this.#untold = [...settlements, ...this.#untold]
      this.#started = [...started, ...this.#started]
      throw thrown
    })
    for (const [i, said] of answer.settled.entries()) {
      if (said !== 'ok') this.fenced.push(settlements[i] as Settlement)
    }
    this.#receive(answer.fetched)
    if (answer.fenced || answer.problem) this.complaints.push(answer.problem ?? 'fenced')
    return answer
  }

  /** A turn that nobody answers, which is soon known. */
  async lose(what: Parameters<Hand['turn']>[0]): Promise<void> {
    const begun = performance.now()
    await expect(this.turn(what)).rejects.toMatchObject({
      code: expect.stringMatching(/^STORE_(UNREACHABLE|TIMEOUT)$/),
    })
    expect(performance.now() - begun).toBeLessThan(SOON_MS)
  }

  /** A turn that is asked for until it is answered. */
  async insist(what: Parameters<Hand['turn']>[0] = {}): Promise<void> {
    await insist(() => this.turn(what))
  }

  async wait(ms = 1000, signal = NEVER, n = 1): Promise<FetchedJob[]> {
    const taken = await this.#stage.store.workers.waitForJobs(this.owner, this.queues, n, ms, signal)
    this.#receive(taken)
    return taken
  }

  /** Pushes a job and receives it by waiting. */
  async receive(text: string): Promise<FetchedJob> {
    await this.#stage.push(text)
    const [taken] = await this.wait()
    if (!taken) throw new Error('the job did not come')
    return taken
  }

  /** Pushes jobs and takes them. */
  async take(...texts: string[]): Promise<FetchedJob[]> {
    await this.#stage.push(...texts)
    return (await this.turn({ n: texts.length })).fetched
  }

  /** Works until there is nothing in the queue and nothing with any owner, and leaves. */
  async workOff(ended: (taken: FetchedJob) => Settlement = (taken) => done(taken)): Promise<void> {
    const end = performance.now() + ENOUGH_MS
    for (;;) {
      await this.turn({ settle: this.running.map(ended), n: 10 }).catch(() => {})
      if (this.running.length > 0 || this.#untold.length > 0) continue
      const { waiting, held } = await this.#stage.truth()
      if (waiting.length + held.length === 0) break
      if (performance.now() > end) throw new Error(`left behind: ${JSON.stringify({ waiting, held })}`)
      await this.wait(100).catch(() => {})
    }
    this.left = await this.#stage.store.workers.release(this.owner)
  }

  #receive(taken: FetchedJob[]): void {
    for (const one of taken) {
      if (this.#tickets.has(one.ticket)) this.complaints.push(`handed out twice: ${one.ticket} ${one.text}`)
      this.#tickets.add(one.ticket)
      this.handed.push(one.text)
      if (this.#stage.faultAt > 0) longest.ms = Math.max(longest.ms, performance.now() - this.#stage.faultAt)
    }
    this.running.push(...taken)
  }
}

/** An owner that has joined. */
export async function openHand(stage: Stage, queues = ['q'], owner = 'here:1:1.0'): Promise<Hand> {
  expect(await stage.store.workers.join(owner, { queues, seconds: 60, host: 'here' })).toBe(true)
  return new Hand(stage, owner, queues)
}

/** Asks until it is answered. */
export async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (thrown) {
      if (tries === 20) throw thrown
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}

export async function until(holds: () => Promise<unknown>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Every job was handed out as often as it should, all ends counted, and nothing is left of the owner. */
export async function census(
  stage: Stage,
  hand: Hand,
  expected: { handed: string[]; processed?: number; failed?: number; retry?: string[]; dead?: string[] },
): Promise<void> {
  const { handed, processed = handed.length, failed = 0, retry = [], dead = [] } = expected
  expect(hand.complaints).toEqual([])
  expect(hand.fenced).toEqual([])
  // One whose wait broke may still be served: it is claimed, so that others look after it.
  const leases = await stage.direct.workers.leases()
  if (hand.left || !stage.struck.has('BLMOVE')) expect(leases).toEqual([])
  else expect(leases).toMatchObject([{ owner: hand.owner, claimed: true }])
  expect([...hand.handed].sort()).toEqual([...handed].sort())
  expect(await stage.truth()).toEqual({
    waiting: [],
    held: [],
    retry,
    dead,
    schedule: [],
    processed,
    failed,
    owned: [],
    marks: hand.left ? [] : expect.anything(),
  })
}
