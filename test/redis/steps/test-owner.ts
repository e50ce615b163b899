import { expect } from 'vitest'
import type { FetchedJob, SettleAndFetchAnswer, Settlement, Started } from '#dist/store/contract.js'
import { done } from '../../conformance/bench.ts'
import type { Stage } from './stage.ts'

const NEVER = new AbortController().signal
const ENOUGH_MS = 15_000
/** A cut connection is noticed within this time, and not only by the timeout of commands. */
const SOON_MS = 3000

/** The longest time after a fault until a waiting job was handed out. */
export const longest = { ms: 0 }

/** An owner that works like a worker: it keeps its fetched jobs, and repeats settlements without an answer. */
export class TestOwner {
  readonly name: string
  readonly queues: string[]
  readonly running: FetchedJob[] = []
  /** The texts of all jobs that it was handed. */
  readonly handed: string[] = []
  /** Settlements that were fenced. */
  readonly fenced: Settlement[] = []
  /** True once the store has removed the owner. */
  left = false
  /** Problems that the store has reported. */
  readonly complaints: string[] = []
  readonly #stage: Stage
  readonly #tickets = new Set<string>()
  #unanswered: Settlement[] = []
  #started: Started[] = []

  constructor(stage: Stage, name: string, queues: string[]) {
    this.#stage = stage
    this.name = name
    this.queues = queues
  }

  /** Runs one step. Every fetched job runs until it is settled. */
  async settleAndFetch(
    what: { settle?: Settlement[]; started?: Started[]; n?: number } = {},
  ): Promise<SettleAndFetchAnswer> {
    const { settle = [], n = 0 } = what
    const settlements = [...this.#unanswered, ...settle]
    const started = [...this.#started, ...(what.started ?? [])]
    const ended = new Set(settle.map(({ ticket }) => ticket))
    this.running.splice(0, Infinity, ...this.running.filter(({ ticket }) => !ended.has(ticket)))
    this.#unanswered = []
    this.#started = []
    const fetch = { queues: this.queues, n }
    const turn = { now: Date.now(), started, settlements, fetch }
    const answer = await this.#stage.store.workers.settleAndFetch(this.name, turn).catch((thrown) => {
      this.#unanswered = [...settlements, ...this.#unanswered]
      this.#started = [...started, ...this.#started]
      throw thrown
    })
    for (const [i, said] of answer.settled.entries()) {
      const settlement = settlements[i] as Settlement
      if (said === 'unknown') this.#unanswered.push(settlement)
      else if (said !== 'ok') this.fenced.push(settlement)
    }
    this.#receive(answer.fetched)
    if (answer.fenced || answer.problem) this.complaints.push(answer.problem ?? 'fenced')
    return answer
  }

  /** Runs a step whose answer is lost, and expects that this is noticed soon. */
  async loseAnswer(what: Parameters<TestOwner['settleAndFetch']>[0]): Promise<void> {
    const begun = performance.now()
    await expect(this.settleAndFetch(what)).rejects.toMatchObject({
      code: expect.stringMatching(/^STORE_(UNREACHABLE|TIMEOUT)$/),
    })
    expect(performance.now() - begun).toBeLessThan(SOON_MS)
  }

  /** Repeats a step until it is answered. */
  async insist(what: Parameters<TestOwner['settleAndFetch']>[0] = {}): Promise<void> {
    await insist(() => this.settleAndFetch(what))
  }

  async wait(ms = 1000, signal = NEVER, n = 1): Promise<FetchedJob[]> {
    const taken = await this.#stage.store.workers.waitForJobs(this.name, this.queues, n, ms, signal)
    this.#receive(taken)
    return taken
  }

  /** Pushes a job and receives it in a wait. */
  async receive(text: string): Promise<FetchedJob> {
    await this.#stage.push(text)
    const [taken] = await this.wait()
    if (!taken) throw new Error('the job did not come')
    return taken
  }

  /** Pushes jobs and fetches them. */
  async fetch(...texts: string[]): Promise<FetchedJob[]> {
    await this.#stage.push(...texts)
    return (await this.settleAndFetch({ n: texts.length })).fetched
  }

  /** Works until no job is in the queue or with any owner, and leaves. */
  async workOff(ended: (taken: FetchedJob) => Settlement = (taken) => done(taken)): Promise<void> {
    const end = performance.now() + ENOUGH_MS
    for (;;) {
      await this.settleAndFetch({ settle: this.running.map(ended), n: 10 }).catch(() => {})
      if (this.running.length > 0 || this.#unanswered.length > 0) continue
      const { waiting, held } = await this.#stage.truth()
      if (waiting.length + held.length === 0) break
      if (performance.now() > end) throw new Error(`left behind: ${JSON.stringify({ waiting, held })}`)
      await this.wait(100).catch(() => {})
    }
    this.left = await this.#stage.store.workers.release(this.name)
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

/** Makes an owner that has joined. */
export async function openOwner(stage: Stage, queues = ['q'], name = 'here:1:1.0'): Promise<TestOwner> {
  expect(await stage.store.workers.join(name, { queues, seconds: 60, host: 'here' })).toBe(true)
  return new TestOwner(stage, name, queues)
}

/** Repeats a call until it is answered. */
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

/**
 * Expects that every job was handed out as often as it should, all settlements were counted, and no key of the owner
 * is left.
 */
export async function census(
  stage: Stage,
  owner: TestOwner,
  expected: { handed: string[]; processed?: number; failed?: number; retry?: string[]; dead?: string[] },
): Promise<void> {
  const { handed, processed = handed.length, failed = 0, retry = [], dead = [] } = expected
  expect(owner.complaints).toEqual([])
  expect(owner.fenced).toEqual([])
  // The server may still serve a broken wait, so its owner is claimed and other processes rescue its jobs.
  const leases = await stage.direct.workers.leases()
  if (owner.left || !stage.faulted.has('BLMOVE')) expect(leases).toEqual([])
  else expect(leases).toMatchObject([{ owner: owner.name, claimed: true }])
  expect([...owner.handed].sort()).toEqual([...handed].sort())
  expect(await stage.truth()).toEqual({
    waiting: [],
    held: [],
    retry,
    dead,
    schedule: [],
    processed,
    failed,
    owned: [],
    settledArrivals: owner.left ? [] : expect.anything(),
  })
}
