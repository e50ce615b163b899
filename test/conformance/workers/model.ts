import fc from 'fast-check'
import { expect } from 'vitest'
import type { FetchedJob, SettleAnswer, Settlement } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release, retry, sure, toQueue } from '../bench.ts'
import { chance } from '../chance.js'

/**
 * Two owners push, fetch, settle, release, die and are rescued in any order, and so does a small model in memory. The
 * answers must agree after every step, and the whole store after the last one.
 */
export const workerModel: Case[] = [
  {
    name: 'any interleaving of two owners ends like the model (property)',
    seconds: 60,
    async run(t) {
      let world = 0
      await fc.assert(
        fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40, size: 'max' }), async (commands) => {
          const model = await Model.start(t, ++world)
          for (const one of commands) await model.run(one)
          await model.check()
        }),
        { seed: t.seed, numRuns: 40, interruptAfterTimeLimit: 10_000 },
      )
    },
  },
]

type Fate = 'done' | 'finished' | 'retry' | 'dead' | 'front' | 'back'

type Command =
  | { do: 'push'; queue: 0 | 1; count: number; front: boolean }
  | { do: 'turn'; who: 0 | 1; settle: Fate[]; stale: boolean; order: 0 | 1; n: number }
  | { do: 'claim'; who: 0 | 1 }
  | { do: 'rescue'; limit: number }
  | { do: 'promote'; limit: number; twice: boolean }

const one = fc.constantFrom<0 | 1>(0, 1)
const fate = fc.constantFrom<Fate>('done', 'done', 'finished', 'retry', 'dead', 'front', 'back')
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('push' as const),
      queue: one,
      count: fc.integer({ min: 1, max: 20 }),
      front: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('turn' as const),
      who: one,
      settle: fc.array(fate, { maxLength: 4 }),
      stale: fc.boolean(),
      order: one,
      n: fc.integer({ min: 0, max: 12 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('claim' as const), who: one }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('rescue' as const), limit: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('promote' as const),
      limit: fc.integer({ min: 1, max: 3 }),
      twice: fc.boolean(),
    }),
  },
)

class Model {
  readonly t: Bench
  /** The same for the same commands, so that a failure can be shrunk. */
  readonly random: () => number
  readonly names: [string, string]
  readonly queues: Map<string, string[]>
  /** Who owns what, oldest first; claimed owners keep theirs until their jobs are rescued. */
  readonly held = new Map<string, FetchedJob[]>()
  readonly claimed: string[] = []
  readonly gone: { owner: string; taken: FetchedJob }[] = []
  readonly retries: { text: string; score: number }[] = []
  readonly dead: string[] = []
  readonly finished: string[] = []
  readonly tickets = new Set<string>()
  owners: [string, string] = ['', '']
  before = { processed: 0, failed: 0 }
  processed = 0
  failed = 0
  pushed = 0
  world: number

  constructor(t: Bench, world: number) {
    this.t = t
    this.random = chance(t.seed)
    this.world = world
    this.names = [`a${world}`, `b${world}`]
    this.queues = new Map(this.names.map((name) => [name, []]))
  }

  dice(n: number): number {
    return Math.floor(this.random() * n)
  }

  static async start(t: Bench, world: number): Promise<Model> {
    const model = new Model(t, world)
    model.before = await t.store.metrics.totals()
    // What an earlier round left behind would be found here.
    await t.store.jobSets.prune('retry', 0, 0)
    await t.store.jobSets.prune('dead', 0, 0)
    await t.store.jobSets.prune('finished', 0, 0)
    for (const item of await t.store.workers.orphaned(1000)) {
      const { text, ...job } = item
      await t.store.workers.rescue([{ ...job, to: toQueue('rubbish', text) }], NOW)
    }
    for (const who of [0, 1] as const) await model.newOwner(who)
    return model
  }

  async newOwner(who: 0 | 1): Promise<void> {
    this.owners[who] = await this.t.owner({ queues: this.names })
    this.held.set(this.owners[who], [])
  }

  async run(one: Command): Promise<void> {
    switch (one.do) {
      case 'push':
        return this.push(this.names[one.queue], one.count, one.front)
      case 'turn':
        return this.settleAndFetch(this.owners[one.who], one)
      case 'claim':
        return this.claim(one.who)
      case 'rescue':
        return this.rescue(one.limit)
      case 'promote':
        return this.promote(one.limit, one.twice)
    }
  }

  async push(queue: string, count: number, front: boolean): Promise<void> {
    const texts = Array.from({ length: count }, () => this.t.job(`${this.world}/${++this.pushed}`))
    await this.t.store.jobs.push(
      texts.map((text) => toQueue(queue, text, front ? 'front' : 'back')),
      NOW,
    )
    for (const text of texts) this.put(queue, text, front)
  }

  put(queue: string, text: string, front: boolean): void {
    const list = sure(this.queues.get(queue))
    if (front) list.unshift(text)
    else list.push(text)
  }

  async settleAndFetch(owner: string, how: { settle: Fate[]; stale: boolean; order: 0 | 1; n: number }): Promise<void> {
    const mine = sure(this.held.get(owner))
    const settlements: Settlement[] = []
    const expected: SettleAnswer[] = []
    for (const one of how.settle) {
      const index = mine.length > 0 ? this.dice(mine.length) : -1
      const [taken] = index < 0 ? [] : mine.splice(index, 1)
      if (!taken) break
      settlements.push(this.settle(taken, one))
      expected.push('ok')
      this.gone.push({ owner, taken })
    }
    const old = this.gone[this.gone.length - 1 - this.dice(4)]
    if (how.stale && old) {
      settlements.push(done(old.taken, { failed: 1, move: toQueue(this.names[0], 'stale') }))
      expected.push('fenced')
    }
    const queues = how.order === 0 ? [...this.names] : [...this.names].reverse()
    const answer = await this.t.settleAndFetch(owner, { settlements, fetch: { queues, n: how.n } })

    expect(answer.fenced).toBe(false)
    expect(answer.settled).toEqual(expected)
    const wanted: { queue: string; text: string }[] = []
    for (const queue of queues) {
      for (const text of sure(this.queues.get(queue)).splice(0, how.n - wanted.length)) wanted.push({ queue, text })
    }
    expect(answer.fetched.map(({ queue, text }) => ({ queue, text }))).toEqual(wanted)
    for (const { queue, ticket } of answer.fetched) {
      const key = `${owner} ${queue} ${ticket}`
      expect(this.tickets).not.toContain(key)
      this.tickets.add(key)
    }
    mine.push(...answer.fetched)
  }

  settle(taken: FetchedJob, fate: Fate): Settlement {
    switch (fate) {
      case 'done':
        this.processed++
        return done(taken)
      case 'finished':
        this.processed++
        this.finished.push(taken.text)
        return done(taken, { move: { to: 'finished', text: taken.text, score: this.finished.length } })
      case 'retry': {
        this.processed++
        this.failed++
        const score = this.gone.length
        this.retries.push({ text: taken.text, score })
        return retry(taken, score)
      }
      case 'dead':
        this.processed++
        this.failed++
        this.dead.push(taken.text)
        return retry(taken, 0, { move: { to: 'dead', text: taken.text, score: this.dead.length } })
      case 'front':
        this.put(taken.queue, taken.text, true)
        return release(taken)
      case 'back':
        this.put(taken.queue, taken.text, false)
        return release(taken, { move: toQueue(taken.queue, taken.text) })
    }
  }

  /** The owner dies. Its last call is refused, and another owner replaces it. */
  async claim(who: 0 | 1): Promise<void> {
    const owner = this.owners[who]
    expect(await this.t.store.workers.claim(owner)).toBe(true)
    const settlements = sure(this.held.get(owner)).map((taken) => done(taken))
    const answer = await this.t.settleAndFetch(owner, { settlements, fetch: { queues: this.names, n: 3 } })
    expect(answer).toMatchObject({ fenced: true, settled: settlements.map(() => 'fenced'), fetched: [] })
    this.claimed.push(owner)
    await this.newOwner(who)
  }

  /** Which of several come first is for rescue.ts: here releases and pushes to the front have mixed their order. */
  async rescue(limit: number): Promise<void> {
    const orphaned = await this.t.store.workers.orphaned(limit)
    const all = this.claimed.flatMap((owner) => sure(this.held.get(owner)))
    expect(orphaned).toHaveLength(Math.min(limit, all.length))
    for (const { owner, queue, ticket, text } of orphaned) {
      const theirs = sure(this.held.get(owner))
      const job = theirs.find((taken) => taken.queue === queue && taken.ticket === ticket)
      expect(job?.text).toBe(text)
      theirs.splice(theirs.indexOf(sure(job)), 1)
      this.put(queue, text, true)
    }
    const items = orphaned.map(({ text, ...job }) => ({ ...job, to: toQueue(job.queue, text, 'front') }))
    expect(await this.t.store.workers.rescue(items, NOW)).toEqual(items.map(() => 'ok'))
    expect(await this.t.store.workers.rescue(items, NOW)).toEqual(items.map(() => 'gone'))
  }

  async promote(limit: number, twice: boolean): Promise<void> {
    this.retries.sort((a, b) => a.score - b.score)
    const { entries, next } = await this.t.store.jobSets.due('retry', NOW, limit)
    const due = this.retries.splice(0, limit)
    expect(entries).toEqual(due)
    expect(next).toBe(this.retries[0]?.score ?? null)
    const swaps = entries.map((entry) => ({ ...entry, to: toQueue(this.names[0], entry.text) }))
    expect(await this.t.store.jobSets.swap('retry', swaps, NOW)).toEqual(swaps.map(() => 'ok'))
    if (twice) expect(await this.t.store.jobSets.swap('retry', swaps, NOW)).toEqual(swaps.map(() => 'gone'))
    for (const { text } of due) this.put(this.names[0], text, false)
  }

  async check(): Promise<void> {
    for (const name of this.names) expect(await this.t.waiting(name)).toEqual(this.queues.get(name))
    const retries = [...this.retries].sort((a, b) => a.score - b.score)
    expect(await this.t.store.jobSets.page('retry', { limit: 1000 })).toEqual(retries)
    expect((await this.t.store.jobSets.page('dead', { limit: 1000 })).map(({ text }) => text)).toEqual(this.dead)
    const finished = await this.t.store.jobSets.page('finished', { limit: 1000 })
    expect(finished.map(({ text }) => text)).toEqual(this.finished)
    expect(await this.t.store.jobSets.size('finished')).toBe(this.finished.length)
    const stats = await this.t.store.metrics.totals()
    expect(stats.processed - this.before.processed).toBe(this.processed)
    expect(stats.failed - this.before.failed).toBe(this.failed)

    // All owners die now: the orphaned jobs are exactly the jobs they had.
    for (const owner of this.owners) await this.t.store.workers.claim(owner)
    const orphaned = await this.t.store.workers.orphaned(1000)
    const held = [...this.held].flatMap(([owner, taken]) => taken.map((job) => ({ owner, ...job })))
    const byTicket = (a: { owner: string; ticket: string }, b: { owner: string; ticket: string }) =>
      `${a.owner} ${a.ticket}` < `${b.owner} ${b.ticket}` ? -1 : 1
    expect(orphaned.sort(byTicket)).toEqual(held.sort(byTicket))
  }
}
