import fc from 'fast-check'
import { expect } from 'vitest'
import type { EventEffect, EventStatus, FetchedJob, TaskSpec } from '#dist/store/contract.js'
import { type Bench, type Case, NOW, release, sure, toQueue } from '../bench.ts'
import { chance } from '../chance.js'
import {
  begin,
  change,
  countsOf,
  deliver,
  expectExact,
  finish,
  moveToDead,
  PRODUCER,
  payloadOf,
  postpone,
  rows,
  spec,
} from './tracked.ts'

/**
 * Rows of a task start, end, are retried, die and are taken out of the dead set in any order, and effects that are old
 * or already applied come again. After each step the counts equal the events and the model, at most `window` rows are
 * in the window, none waits while the window has room, and each row is where the model has it.
 */
export const taskModel: Case[] = [
  {
    name: 'counts equal the events and the window holds after any operations in any order (property)',
    seconds: 60,
    async run(t) {
      let number = 0
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 5 }),
          fc.array(command, { minLength: 10, maxLength: 80, size: 'max' }),
          async (window, commands) => {
            const model = await Model.start(t, ++number, window)
            for (const one of commands) {
              await model.run(one)
              await model.check()
            }
          },
        ),
        { seed: t.seed, numRuns: 40, interruptAfterTimeLimit: 10_000 },
      )
    },
  },
]

type Command =
  | { do: 'add'; count: number; rejected: boolean; again: boolean }
  | { do: 'take'; n: number }
  | { do: 'begin' }
  | { do: 'end'; status: 'finished' | 'failed' | 'error' | 'cancelled' }
  | { do: 'postpone' | 'moveToDead' | 'release' | 'return' | 'stop' }
  | { do: 'stale'; repeat: boolean }

const simple = (weight: number, what: 'postpone' | 'moveToDead' | 'release' | 'return' | 'stop' | 'begin') => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(what) }) as fc.Arbitrary<Command>,
})
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      count: fc.integer({ min: 0, max: 4 }),
      rejected: fc.boolean(),
      again: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('take' as const), n: fc.integer({ min: 1, max: 3 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      status: fc.constantFrom('finished' as const, 'finished' as const, 'failed' as const, 'cancelled' as const),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('stale' as const), repeat: fc.boolean() }) },
  simple(3, 'begin'),
  simple(3, 'postpone'),
  simple(2, 'moveToDead'),
  simple(1, 'release'),
  simple(3, 'return'),
  simple(1, 'stop'),
)

interface Row {
  status: EventStatus
  /** Attempts that have ended. */
  ended: number
  /** Whether an attempt has begun and not ended. */
  begun: boolean
  last: EventEffect | null
}

class Model {
  readonly t: Bench
  /** The same for the same commands, so that a failure can be shrunk. */
  readonly random: () => number
  readonly task: TaskSpec
  readonly rows: Row[] = []
  readonly held: FetchedJob[] = []
  /** In the retry or the dead set. */
  readonly away: { set: 'retry' | 'dead'; text: string; score: number }[] = []
  readonly old: EventEffect[] = []
  owner = ''
  score = 0
  stopped = false

  constructor(t: Bench, task: TaskSpec) {
    this.t = t
    this.random = chance(t.seed)
    this.task = task
  }

  dice(n: number): number {
    return Math.floor(this.random() * n)
  }

  static async start(t: Bench, number: number, window: number): Promise<Model> {
    const queue = `t${number}`
    const model = new Model(t, spec(number, { queue, window, keepArgs: 'rejected' }))
    await t.store.tasks.create(model.task)
    model.owner = await t.owner({ queues: [queue] })
    model.score = number * 1000
    return model
  }

  rowOf(text: string): Row {
    return sure(this.rows[Number.parseInt(payloadOf({ text }).jid.slice(16), 16)])
  }

  /** Some job the owner holds, which it will hold no more. */
  some(): FetchedJob | undefined {
    return this.held.splice(this.dice(this.held.length), 1)[0]
  }

  async run(one: Command): Promise<void> {
    switch (one.do) {
      case 'add':
        return this.add(one.count, one.rejected, one.again)
      case 'stop':
        this.stopped = true
        expect(await this.t.store.tasks.endAdding(this.task.id, PRODUCER, NOW)).toMatchObject({ ok: true })
        return
      case 'take': {
        const taken = await this.t.fetch(this.owner, this.task.queue, one.n)
        this.held.push(...taken)
        return
      }
      case 'begin':
        return this.begin()
      case 'end':
      case 'postpone':
      case 'moveToDead':
      case 'release':
        return this.end(one.do === 'end' ? one.status : one.do)
      case 'return':
        return this.comeBack()
      case 'stale':
        return this.stale(one.repeat)
    }
  }

  async add(count: number, rejected: boolean, again: boolean): Promise<void> {
    if (this.stopped || count === 0) return
    const from = this.rows.length
    const chunk = rows(from, count)
    if (rejected) chunk[0] = { args: `[${from}]`, rejected: { status: 'failed', messages: [] } }
    for (let i = 0; i <= Number(again); i++) {
      const answer = await this.t.store.tasks.addRows(this.task.id, PRODUCER, from, chunk, NOW)
      expect(answer).toEqual({ ok: true, total: from + count })
    }
    for (const row of chunk) {
      this.rows.push({ status: row.rejected ? 'failed' : 'enqueued', ended: 0, begun: false, last: null })
    }
  }

  async begin(): Promise<void> {
    const taken = this.held[this.dice(this.held.length)]
    if (!taken) return
    const row = this.rowOf(taken.text)
    const started = begin(taken, { attempt: row.ended + 1 })
    const answer = await this.t.settleAndFetch(this.owner, { started: [started] })
    expect(answer.started).toEqual(['ok'])
    row.begun = true
    this.applied(row, sure(started.effects[0]))
  }

  async end(how: 'finished' | 'failed' | 'error' | 'cancelled' | 'postpone' | 'moveToDead' | 'release'): Promise<void> {
    const taken = this.some()
    if (!taken) return
    const row = this.rowOf(taken.text)
    const attempt = row.ended + 1
    const score = ++this.score
    const settlement =
      how === 'postpone'
        ? postpone(taken, score, { attempt })
        : how === 'moveToDead'
          ? moveToDead(taken, score, { attempt })
          : how === 'release'
            ? release(taken, { effects: [change(taken, { attempt, status: 'enqueued', window: 'keep' })] })
            : finish(taken, { attempt, status: how })
    const answer = await this.t.settleAndFetch(this.owner, { settlements: [settlement, settlement] })
    expect(answer.settled).toEqual(['ok', 'fenced'])
    row.ended = attempt
    row.begun = false
    this.applied(row, sure(settlement.effects?.[0]) as EventEffect)
    if (how === 'postpone' || how === 'moveToDead') {
      this.away.push({ set: how === 'moveToDead' ? 'dead' : 'retry', text: taken.text, score })
    }
  }

  /** Comes back from the retry or the dead set. */
  async comeBack(): Promise<void> {
    const entry = this.away.splice(this.dice(this.away.length), 1)[0]
    if (!entry) return
    const { set, text, score } = entry
    const row = this.rowOf(text)
    const effect = change({ text }, { attempt: row.ended, status: 'enqueued', window: 'enter' })
    const swap = { text, score, to: toQueue(this.task.queue, text), effects: [effect] }
    expect(await this.t.store.jobSets.swap(set, [swap, swap], NOW)).toEqual(['ok', 'gone'])
    this.applied(row, effect)
  }

  applied(row: Row, effect: EventEffect): void {
    if (row.last) this.old.push(row.last)
    row.last = effect
    row.status = effect.status
  }

  /** An effect comes again: the last one of its event, or one that is older and must have no effect. */
  async stale(repeat: boolean): Promise<void> {
    // The text of a row that enters is the item's own: entering can't be repeated on the back of another job.
    const effects = repeat
      ? this.rows.flatMap(({ last }) => (last && last.window !== 'enter' ? [last] : []))
      : this.old.filter((effect) => isOlder(effect, sure(this.rowOf(JSON.stringify({ jid: effect.jid })).last)))
    const effect = effects[this.dice(effects.length)]
    if (effect) await deliver(this.t, effect, effect)
  }

  async check(): Promise<void> {
    const { t, task } = this
    const found = await expectExact(t, task)
    expect(found.counts).toEqual(countsOf(this.rows.map(({ status }) => status)))
    expect(found.total).toBe(this.rows.length)

    const waiting = await t.waiting(task.queue)
    const placed = waiting.length + this.held.length
    expect(placed).toBeLessThanOrEqual(task.window)
    if (found.backlog > 0) expect(placed).toBe(task.window)
    const live = this.rows.filter(({ status }) => status === 'enqueued' || status === 'working').length
    const retrying = this.away.filter(({ set }) => set === 'retry').length
    expect(found.backlog).toBe(live - placed - retrying)
    const final = live === 0
    expect(found.state).toBe(this.stopped ? (final ? 'done' : 'running') : 'adding')
  }
}

function isOlder(one: EventEffect, other: EventEffect): boolean {
  const rank = ({ run, attempt, status }: EventEffect) => run * 1e6 + attempt * 2 + (status === 'working' ? 0 : 1)
  return rank(one) < rank(other)
}
