import fc from 'fast-check'
import { expect } from 'vitest'
import type { Entry, EventEffect, EventStatus, FetchedJob, Settlement, TaskSpec } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release, sure, toQueue } from '../bench.ts'
import { chance } from '../chance.js'
import { type Producer, type Row, TaskLife } from './life-model.ts'
import {
  allEvents,
  begin,
  change,
  deliver,
  expectExact,
  finish,
  moveToDead,
  payloadOf,
  postpone,
  rows,
  spec,
} from './tracked.ts'

/**
 * Rows are added, run, are retried and put back, the task is paused, cancelled, interrupted and run again, in any order,
 * with old and repeated calls between. After every step the task is what the model says and the books are exact; in the
 * end everything that was begun comes to an end.
 */
export const taskLife: Case[] = [
  {
    name: 'a task behaves like the model after any operations in any order, and ends (property)',
    seconds: 60,
    async run(t) {
      let number = 0
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            window: fc.integer({ min: 1, max: 4 }),
            maxFailures: fc.constantFrom(null, null, { rows: 1 }, { rows: 3 }),
            onMaxFailures: fc.constantFrom('pause' as const, 'cancel' as const),
          }),
          fc.array(fc.constantFrom(...weighted), { minLength: 20, maxLength: 90, size: 'max' }),
          async (terms, commands) => {
            const life = await Life.start(t, ++number, terms)
            for (const one of commands) {
              await life[one]()
              life.model.settle()
              await life.check(one)
            }
            await life.drain()
          },
        ),
        { seed: t.seed, numRuns: 60, interruptAfterTimeLimit: 4000 },
      )
    },
  },
]

type Command =
  | 'add'
  | 'addByRow'
  | 'repeatAdd'
  | 'endAdding'
  | 'breakOff'
  | 'openAdding'
  | 'takeOver'
  | 'producerDies'
  | 'pause'
  | 'resume'
  | 'resize'
  | 'cancel'
  | 'cancelRows'
  | 'startRun'
  | 'retryRows'
  | 'fetch'
  | 'begin'
  | 'end'
  | 'postpone'
  | 'moveToDead'
  | 'release'
  | 'comeBack'
  | 'stale'
  | 'lose'

const often: Command[] = ['add', 'fetch', 'fetch', 'begin', 'end', 'end', 'comeBack', 'retryRows', 'stale', 'startRun']
const atTimes: Command[] = ['addByRow', 'repeatAdd', 'endAdding', 'breakOff', 'openAdding', 'takeOver', 'producerDies']
const sometimes: Command[] = ['pause', 'resume', 'resize', 'cancelRows', 'postpone', 'moveToDead', 'release', 'lose']
const weighted: Command[] = [...often, ...often, ...atTimes, ...sometimes, ...sometimes, 'cancel']

class Life {
  readonly t: Bench
  readonly task: TaskSpec
  readonly model: TaskLife
  readonly random: () => number
  readonly away: { set: 'retry' | 'dead'; entry: Entry }[] = []
  readonly told: EventEffect[] = []
  /** Attempts that have ended, by jid and run. */
  readonly ended = new Map<string, number>()
  readonly rowProducers = new Map<string, Producer>()
  held: FetchedJob[] = []
  owner = ''
  window: number
  score: number
  names = 0
  putter = ''

  constructor(t: Bench, task: TaskSpec, number: number) {
    this.t = t
    this.task = task
    this.model = new TaskLife(task.maxFailures ?? null, task.onMaxFailures ?? 'pause')
    this.random = chance(t.seed)
    this.window = task.window
    this.score = number * 1000
  }

  static async start(t: Bench, number: number, terms: Partial<TaskSpec>): Promise<Life> {
    const queue = `t${number}`
    const told = { queue: `calls${number}`, template: '{}' }
    const producer = await t.owner()
    const task = spec(number, { queue, producer, onDone: told, onFailure: told, ...terms })
    const life = new Life(t, task, number)
    expect(await t.store.tasks.create(task)).toBe(true)
    life.model.producers.set(producer, { state: 'open', cursor: 0, retry: false })
    life.owner = await t.owner({ queues: [queue] })
    return life
  }

  dice(n: number): number {
    return Math.floor(this.random() * n)
  }

  some<T>(items: readonly T[]): T | undefined {
    return items[this.dice(items.length)]
  }

  someProducer(which: (producer: Producer) => boolean = () => true): [string, Producer] | undefined {
    return this.some([...this.model.producers].filter(([, producer]) => which(producer)))
  }

  rowOf(text: string): { index: number; row: Row; key: string; attempt: number } {
    const { jid, hk_run } = payloadOf({ text })
    const index = Number.parseInt(jid.slice(16), 16)
    const key = `${jid}:${hk_run}`
    return { index, row: sure(this.model.rows[index]), key, attempt: (this.ended.get(key) ?? 0) + 1 }
  }

  // ------------------------------------------------------------------------------------------------ adding

  async add(): Promise<void> {
    const found = this.someProducer()
    if (found) await this.addAs(...found)
  }

  async addByRow(): Promise<void> {
    if (this.model.rows.length === 0) return
    const index = this.dice(this.model.rows.length)
    const name = `row:${index}`
    const producer = this.rowProducers.get(name) ?? { state: 'open', cursor: 0, retry: false }
    producer.state = this.model.isStopped || this.model.hasEnded ? 'ended' : 'open'
    this.rowProducers.set(name, producer)
    await this.addAs(`${name}:${sure(this.model.rows[index]).run}`, producer)
  }

  async addAs(name: string, producer: Producer): Promise<void> {
    const { model, t, task } = this
    const chunk = rows(model.rows.length, 1 + this.dice(4))
    const refused = this.dice(6) === 0 ? this.dice(chunk.length) : -1
    if (refused >= 0) sure(chunk[refused]).rejected = { status: 'failed', code: 'refused', messages: [] }
    const answer = await t.store.tasks.addRows(task.id, name, producer.cursor, chunk, NOW)
    if (producer.state !== 'open') {
      const reason = producer.state === 'ended' ? 'ended' : 'taken-over'
      expect(answer).toEqual({ ok: false, reason, cursor: producer.cursor })
      return
    }
    for (const { rejected } of chunk) model.add(rejected !== undefined)
    producer.cursor += chunk.length
    expect(answer).toEqual({ ok: true, total: model.rows.length })
  }

  async repeatAdd(): Promise<void> {
    const found = this.someProducer(({ cursor }) => cursor > 0)
    if (!found) return
    const [name, { state, cursor }] = found
    const answer = await this.t.store.tasks.addRows(this.task.id, name, cursor - 1, rows(0, 1), NOW)
    const replaced = { ok: false, reason: 'taken-over', cursor }
    expect(answer).toEqual(state === 'replaced' ? replaced : { ok: true, total: this.model.rows.length })
  }

  async endAdding(interrupted = false): Promise<void> {
    const found = this.someProducer(({ retry }) => !retry || this.dice(2) === 0)
    if (!found) return
    const [name, producer] = found
    for (let again = 0; again < 2; again++) {
      const { ok } = await this.t.store.tasks.endAdding(this.task.id, name, NOW, interrupted)
      expect(ok).toBe(producer.state !== 'replaced' && (producer.state !== 'broken' || interrupted))
      this.model.endAdding(producer, interrupted)
    }
  }

  async breakOff(): Promise<void> {
    if (this.dice(2) === 0) await this.endAdding(true)
  }

  async openAdding(instead?: string): Promise<void> {
    const { model, t, task } = this
    const name = await t.owner()
    const old = instead === undefined ? undefined : sure(model.producers.get(instead))
    const refused = model.isStopped || model.hasEnded || old?.state === 'replaced'
    for (let again = 0; again < 2; again++) {
      const answer = await t.store.tasks.openAdding(task.id, name, NOW, instead)
      expect(answer.ok).toBe(!refused)
    }
    if (refused) return
    if (old) old.state = 'replaced'
    model.producers.set(name, { state: 'open', cursor: old?.cursor ?? 0, retry: false })
  }

  async takeOver(): Promise<void> {
    const found = this.someProducer(({ retry }) => !retry)
    if (found) await this.openAdding(found[0])
  }

  async producerDies(): Promise<void> {
    const found = this.someProducer(({ state }) => state === 'open')
    if (!found || this.dice(2) === 0) return
    expect(await this.t.store.workers.claim(found[0])).toBe(true)
    this.model.endAdding(found[1], true)
  }

  // ---------------------------------------------------------------------------------------------- steering

  async steer(change: { paused?: boolean; window?: number }): Promise<void> {
    const { model } = this
    for (let again = 0; again < 2; again++) {
      const ended = model.hasEnded
      expect(await this.t.store.tasks.change(this.task.id, change, NOW)).toBe(ended ? 'ended' : 'ok')
      if (ended) return
      if (change.paused !== undefined && !model.isStopped) model.paused = change.paused
      this.window = change.window ?? this.window
      model.settle()
    }
  }

  pause(): Promise<void> {
    return this.steer({ paused: true })
  }

  resume(): Promise<void> {
    return this.steer({ paused: false })
  }

  resize(): Promise<void> {
    return this.steer({ window: 1 + this.dice(5) })
  }

  async cancel(): Promise<void> {
    const ended = this.model.hasEnded
    expect(await this.t.store.tasks.cancel(this.task.id, null, NOW)).toBe(ended ? 'ended' : 'ok')
    if (!ended && !this.model.isStopped) this.model.cancel()
  }

  async cancelRows(): Promise<void> {
    const before = this.model.rows.filter(({ status }) => status === 'enqueued').length
    const { cancelled, done: isDone } = await this.t.store.tasks.cancelRows(this.task.id, 1 + this.dice(4), NOW)
    if (this.model.end !== 'cancelling') {
      expect({ cancelled, isDone }).toEqual({ cancelled: 0, isDone: true })
      return
    }
    const after = (await allEvents(this.t, this.task)).map(({ status }) => status)
    for (const [i, row] of this.model.rows.entries()) {
      if (row.status === 'enqueued' && after[i] === 'cancelled') this.model.cancelRow(row)
    }
    const left = this.model.rows.filter(({ status }) => status === 'enqueued').length
    expect(cancelled).toBe(before - left)
    if (isDone) expect(left).toBe(0)
  }

  async startRun(): Promise<void> {
    const { model, t, task } = this
    if (this.dice(3) > 0) return
    const producer = await t.owner()
    const expected = model.end === 'cancelling' ? 'cancelling' : 'ok'
    const { run } = model
    expect(await t.store.tasks.startRun(task.id, run, producer, NOW)).toBe(expected)
    if (expected !== 'ok') return
    model.startRun(producer)
    this.putter = producer
    expect(await t.store.tasks.startRun(task.id, run, producer, NOW)).toBe('ok')
    expect(await t.store.tasks.startRun(task.id, run, 'late', NOW)).toBe('gone')
  }

  async retryRows(): Promise<void> {
    const { model, t, task } = this
    if (!model.producers.has(this.putter)) return
    const index = this.dice(model.rows.length + 1)
    const wasInRun = model.rows[index]?.run === model.run
    const at = this.away.findIndex(({ set, entry }) => set === 'dead' && this.rowOf(entry.text).index === index)
    const dead = this.away[at]?.entry
    const row = { index, ...(dead ? { dead } : {}) }
    const ask = () => t.store.tasks.retryRows(task.id, model.run, [row], NOW)
    const retried = !model.isStopped && model.retry(index)
    expect(await ask()).toEqual([!model.isStopped && (retried || wasInRun) ? 'ok' : 'gone'])
    expect(await ask()).toEqual([!model.isStopped && (retried || wasInRun) ? 'ok' : 'gone'])
    if (retried && dead) this.away.splice(at, 1)
  }

  // ----------------------------------------------------------------------------------------------- working

  async fetch(): Promise<void> {
    this.held.push(...(await this.t.fetch(this.owner, this.task.queue, 1 + this.dice(3))))
  }

  async begin(): Promise<void> {
    const taken = this.some(this.held)
    if (!taken) return
    const { index, attempt } = this.rowOf(taken.text)
    const started = begin(taken, { attempt })
    const effect = sure(started.effects[0])
    const expected = this.tell(index, effect)
    this.model.settle()
    expect((await this.t.settleAndFetch(this.owner, { started: [started] })).started).toEqual([expected])
    if (expected === 'ok') return
    this.held = this.held.filter((one) => one !== taken)
    // Not run: settled, and nothing is told of it.
    await this.t.settleAndFetch(this.owner, { settlements: [done(taken)] })
  }

  end(): Promise<void> {
    const status = sure(this.some<EventStatus>(['finished', 'finished', 'failed', 'cancelled']))
    return this.settle((taken, attempt) => finish(taken, { attempt, status, code: 'said' }))
  }

  postpone(): Promise<void> {
    return this.settle((taken, attempt, score) => postpone(taken, score, { attempt }), 'retry')
  }

  moveToDead(): Promise<void> {
    return this.settle((taken, attempt, score) => moveToDead(taken, score, { attempt }), 'dead')
  }

  release(): Promise<void> {
    return this.settle((taken, attempt) =>
      release(taken, { effects: [change(taken, { attempt, status: 'enqueued', window: 'keep' })] }),
    )
  }

  async settle(
    how: (taken: FetchedJob, attempt: number, score: number) => Settlement,
    set?: 'retry' | 'dead',
  ): Promise<void> {
    const taken = this.some(this.held)
    if (!taken) return
    this.held = this.held.filter((one) => one !== taken)
    const { index, key, attempt } = this.rowOf(taken.text)
    const score = ++this.score
    const settlement = how(taken, attempt, score)
    expect((await this.t.settleAndFetch(this.owner, { settlements: [settlement, settlement] })).settled).toEqual([
      'ok',
      'fenced',
    ])
    this.ended.set(key, attempt)
    if (set) this.away.push({ set, entry: { text: taken.text, score } })
    this.tell(index, sure(settlement.effects?.[0]) as EventEffect)
  }

  /** Comes back from the retry or the dead set. */
  async comeBack(): Promise<void> {
    const one = this.away.splice(this.dice(this.away.length), 1)[0]
    if (!one) return
    const { set, entry } = one
    const { index, attempt } = this.rowOf(entry.text)
    const effect = change(entry, { attempt: attempt - 1, status: 'enqueued', window: 'enter' })
    const swap = { ...entry, to: toQueue(this.task.queue, entry.text), effects: [effect] }
    expect(await this.t.store.jobSets.swap(set, [swap, swap], NOW)).toEqual(['ok', 'gone'])
    this.tell(index, effect)
  }

  /** Something that was told comes again, if by now it must have no effect. */
  async stale(): Promise<void> {
    const { model } = this
    const old = this.told.filter((effect) => {
      const row = sure(model.rows[Number.parseInt(effect.jid.slice(16), 16)])
      const step = effect.attempt * 2 + (effect.status === 'working' ? 0 : 1)
      return effect.run < row.run || (effect.run === row.run && (step < row.step || row.closed))
    })
    const effect = this.some(old)
    if (!effect) return
    if (this.dice(2) === 0) await deliver(this.t, effect, effect)
    else await this.t.store.tasks.changeEvents([effect, effect], NOW)
  }

  /** A row is judged lost, whatever has become of its job. */
  async lose(): Promise<void> {
    const index = this.dice(this.model.rows.length)
    const row = this.model.rows[index]
    if (!row || row.status === 'finished') return
    const jid = this.task.id + index.toString(16).padStart(8, '0')
    const text = JSON.stringify({ jid, hk_run: row.run })
    const effect = change({ text }, { attempt: row.step >> 1, status: 'error', code: 'lost' })
    for (let again = 0; again < 2; again++) {
      await this.t.store.tasks.changeEvents([effect], NOW)
      this.tell(index, effect)
      this.model.settle()
    }
  }

  tell(index: number, effect: EventEffect): 'ok' | 'superseded' {
    this.told.push(effect)
    return this.model.change(index, effect)
  }

  // ---------------------------------------------------------------------------------------------- checking

  async check(after: string): Promise<void> {
    const { t, task, model } = this
    const found = await expectExact(t, task)
    const { state, run, isAdding: adding } = model
    expect({ after, state: found.state, run: found.run, adding: found.adding }).toEqual({ after, state, run, adding })
    const events = await allEvents(t, task)
    expect(events.map(({ status }) => status)).toEqual(model.rows.map(({ status }) => status))
    expect(events.map((event) => event.run)).toEqual(model.rows.map((row) => row.run))
    expect(found.finishedAt === null).toBe(!model.hasEnded)
    expect(found.window).toBe(this.window)

    // What is placed has its job in the queue or with the owner, once; what is held has none there.
    const texts = [...(await t.waiting(task.queue)), ...this.held.map(({ text }) => text)]
    const jobs = texts.map((text) => payloadOf({ text })).map(({ jid, hk_run }) => `${jid}:${hk_run}`)
    expect(new Set(jobs).size).toBe(jobs.length)
    for (const event of events) {
      const isThere = jobs.includes(`${event.jid}:${event.run}`)
      if (event.location !== 'elsewhere')
        expect({ event, isThere }).toEqual({ event, isThere: event.location === 'window' })
    }
    // Nobody waits beside a free place.
    if (found.backlog > 0 && !model.paused && !model.isStopped)
      expect(found.inWindow).toBeGreaterThanOrEqual(this.window)
    const calls = (await t.waiting(sure(task.onDone).queue)).map((text) => payloadOf({ text }).jid.slice(16))
    expect(calls).toEqual(model.calls)
  }

  /** Everything that can end ends, and so does the task. */
  async drain(): Promise<void> {
    const { model, t, task } = this
    const step = async (what: string, work: () => Promise<void>) => {
      await work()
      model.settle()
      await this.check(what)
    }
    for (const [name, producer] of model.producers) {
      if (producer.state !== 'open') continue
      await step('drain: adding ends', async () => {
        await t.store.tasks.endAdding(task.id, name, NOW)
        model.endAdding(producer, false)
      })
    }
    model.tolerance = null
    if (!model.hasEnded) await t.store.tasks.change(task.id, { maxFailures: null }, NOW)
    await step('drain: resumed', () => this.resume())
    while (this.away.length > 0) await step('drain: back', () => this.comeBack())
    while (model.end === 'cancelling' && model.rows.some(({ status }) => status === 'enqueued')) {
      await step('drain: rows are cancelled', () => this.cancelRows())
    }
    for (let rounds = 0; this.held.length > 0 || (await t.waiting(task.queue)).length > 0; rounds++) {
      expect(rounds).toBeLessThan(1000)
      await step('drain: taken', () => this.fetch())
      while (this.held.length > 0) {
        await step('drain: begun', () => this.begin())
        await step('drain: ended', () => this.end())
      }
    }
    expect(model.open).toBe(0)
    expect(['done', 'cancelled', 'interrupted']).toContain(model.state)
  }
}
