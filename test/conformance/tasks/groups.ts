import fc from 'fast-check'
import { expect } from 'vitest'
import type { Branch, EventEffect, EventStatus, FetchedJob, Settlement, TaskSpec } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release } from '../bench.ts'
import { chance } from '../chance.js'
import {
  argsIn,
  cancelAll,
  change,
  counts,
  eventOf,
  expectExact,
  jidOf,
  PRODUCER,
  payloadOf,
  record,
  rows,
  spec,
  taskWith,
} from './tracked.ts'

/** Several rows of a task that are one job. */
export const taskGroups: Case[] = [
  {
    name: 'consecutive rows share a job up to its limit, and each job has one slot in the window',
    async run(t) {
      const task = await taskWith(t, 1, 11, { rowsPerJob: 4, window: 2 })
      const text = (indexes: number[], at: string | number, template: string) =>
        `${template.slice(0, -1)},"args":[[${indexes}]],"hk_rows":[${indexes}],"jid":"${jidOf(task.id, indexes[0] ?? 0)}","hk_run":1,"enqueued_at":${at}}`
      expect(await t.waiting('q')).toEqual([
        text([0, 1, 2, 3], NOW, task.template),
        text([4, 5, 6, 7], NOW, task.template),
      ])
      expect(await expectExact(t, task)).toMatchObject({ rowsPerJob: 4, inWindow: 2, backlog: 3 })
      expect((await eventOf(t, task, 1)).location).toBe('elsewhere')
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [ends(first)], now: NOW + 1500 })
      expect(await t.waiting('q')).toEqual([text([8, 9, 10], NOW + 1500, task.template)])
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 2,
        backlog: 0,
        counts: counts({ finished: 4, enqueued: 7 }),
      })
      // One row is in a list, too.
      const alone = await taskWith(t, 2, 1, { rowsPerJob: 4, queue: 'alone' })
      const [only] = await t.waiting('alone')
      expect(payloadOf({ text: only })).toMatchObject({ args: [[0]], jid: jidOf(alone.id, 0) })
      expect(payloadOf({ text: only })).not.toHaveProperty('hk_rows')
    },
  },
  {
    name: 'a whole payload, a row of another run, a returned row and a row with too many bytes get their own jobs',
    async run(t) {
      const task = spec(1, { rowsPerJob: 10, window: 20 })
      await t.store.tasks.create(task)
      const whole = '{"class":"Other","args":[9]}'
      const added = [...rows(0, 2), { args: whole, job: 'Other' }, ...rows(3, 2), ...rows(5, 0)]
      await t.store.tasks.addRows(task.id, PRODUCER, 0, added, NOW)
      const large = Array.from({ length: 3 }, () => ({ args: `["${'x'.repeat(400_000)}"]` }))
      await t.store.tasks.addRows(task.id, PRODUCER, 5, large, NOW)
      await t.store.tasks.endAdding(task.id, PRODUCER, NOW)
      const sizes = async () => (await t.waiting('q')).map((text) => sizeOf({ text }))
      expect(await sizes()).toEqual([2, 1, 2, 2, 1])
      expect((await argsIn(t))[1]).toEqual([9])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 5, backlog: 0 })

      // Rejected rows are put back: each is alone, also beside others.
      const owner = await t.owner()
      for (let fetched = await t.fetch(owner, 'q', 1); fetched.length > 0; fetched = await t.fetch(owner, 'q', 1)) {
        await t.settleAndFetch(owner, { settlements: [ends(fetched[0], { status: 'failed' })] })
      }
      const putter = await t.owner()
      expect(await t.store.tasks.startRun(task.id, 1, putter, NOW)).toBe('ok')
      const again = [0, 1, 3].map((index) => ({ index }))
      expect(await t.store.tasks.retryRows(task.id, 2, again, NOW)).toEqual(['ok', 'ok', 'ok'])
      await t.store.tasks.openAdding(task.id, 'later', NOW)
      await t.store.tasks.addRows(task.id, 'later', 0, rows(8, 2), NOW)
      expect(await argsIn(t)).toEqual([[[0]], [[1]], [[3]], [[8, 9]]])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 4, backlog: 0 })
    },
  },
  {
    name: 'the size of a job of several rows is counted in bytes, with any characters',
    async run(t) {
      // Of each row its brackets and quotes are four bytes more.
      const together: [character: string, lengths: number[], sizes: number[]][] = [
        ['x', [499_996, 499_996, 1], [2, 1]],
        ['x', [499_996, 499_997], [1, 1]],
        ['ž', [300_000, 300_000, 199_992], [1, 2]],
        ['😀', [200_000, 50_000, 100_000, 1], [1, 3]],
      ]
      for (const [i, [character, lengths, sizes]] of together.entries()) {
        const task = spec(i + 1, { rowsPerJob: 10, window: 20, queue: `sizes${i}` })
        await t.store.tasks.create(task)
        const added = lengths.map((length) => ({ args: `["${character.repeat(length)}"]` }))
        await t.store.tasks.addRows(task.id, PRODUCER, 0, added, NOW)
        expect((await t.waiting(task.queue)).map((text) => sizeOf({ text }))).toEqual(sizes)
      }
    },
  },
  {
    name: 'each row of a job starts and ends separately; a superseded row does not',
    async run(t) {
      const task = await taskWith(t, 1, 3, { rowsPerJob: 3 })
      const owner = await t.owner()
      const [fetched] = await t.fetch(owner, 'q', 1)
      await t.store.tasks.changeEvents([effectsOf(fetched, { status: 'cancelled' })[1] as EventEffect], NOW)
      await t.store.tasks.startRun(task.id, 1, await t.owner(), NOW)
      await t.store.tasks.retryRows(task.id, 2, [{ index: 1 }], NOW)
      const started = startsOf(fetched)
      for (let n = 0; n < 2; n++) {
        expect((await t.settleAndFetch(owner, { started })).started).toEqual(['ok', 'superseded', 'ok'])
        expect(await expectExact(t, task)).toMatchObject({ inWindow: 2, counts: counts({ working: 2, enqueued: 1 }) })
      }
      const [first, , last] = effectsOf(fetched)
      const effects = [first as EventEffect, { ...(last as EventEffect), status: 'failed' as const, code: 'bad' }]
      const settlements = [done(fetched, { effects })]
      expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(['ok'])
      expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(['fenced'])
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 1,
        counts: counts({ finished: 1, failed: 1, enqueued: 1 }),
      })
    },
  },
  {
    name: 'the parts of a split job are stored in the step that settles it, once',
    async run(t) {
      const task = await taskWith(t, 1, 4, { rowsPerJob: 4, window: 2 })
      const owner = await t.owner()
      const [fetched] = await t.fetch(owner, 'q', 1)
      const [one, two, three, four] = branchesOf(fetched) as [Branch, Branch, Branch, Branch]
      const retry = { status: 'enqueued', window: 'leave' } as const
      const settlement = done(fetched, {
        failed: 1,
        effects: [effectsOf(fetched)[0] as EventEffect],
        also: [
          two,
          {
            to: { to: 'retry', text: three.to.text, score: 7 },
            effects: [{ ...effectsOf(fetched, retry)[2] } as EventEffect],
          },
          four,
        ],
      })
      expect(one.to.to).toBe('queue')
      const other = await t.owner()
      expect((await t.settleAndFetch(other, { settlements: [settlement] })).settled).toEqual(['fenced'])
      expect(await t.waiting('q')).toEqual([])
      expect((await t.settleAndFetch(owner, { settlements: [settlement, settlement] })).settled).toEqual([
        'ok',
        'fenced',
      ])
      expect((await t.settleAndFetch(owner, { settlements: [settlement] })).settled).toEqual(['fenced'])
      expect(await argsIn(t)).toEqual([[[3]], [[1]]])
      expect(await t.store.jobSets.page('retry', { limit: 5 })).toEqual([{ text: three.to.text, score: 7 }])
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 2,
        backlog: 0,
        counts: counts({ finished: 1, enqueued: 3 }),
      })
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, failed: 1 })
    },
  },
  {
    name: 'a row without room in the window goes to the front of the backlog, and a whole job, too',
    async run(t) {
      const task = await taskWith(t, 1, 6, { rowsPerJob: 3, window: 1 })
      const owner = await t.owner()
      const [fetched] = await t.fetch(owner, 'q', 1)
      const also = branchesOf(fetched).toReversed()
      expect((await t.settleAndFetch(owner, { settlements: [done(fetched, { also })] })).settled).toEqual(['ok'])
      expect(await argsIn(t)).toEqual([[[0]]])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 1, backlog: 5 })
      const order: unknown[] = []
      for (
        let next: FetchedJob | undefined = (await t.fetch(owner, 'q', 1))[0];
        next;
        next = (await t.fetch(owner, 'q', 1))[0]
      ) {
        order.push(payloadOf(next).args)
        await t.settleAndFetch(owner, { settlements: [ends(next, { attempt: 2 })] })
      }
      expect(order).toEqual([[[0]], [[1]], [[2]], [[3, 4, 5]]])
      expect(await expectExact(t, task)).toMatchObject({ state: 'done', inWindow: 0, counts: counts({ finished: 6 }) })

      const off = await taskWith(t, 2, 4, { rowsPerJob: 2, window: 1, queue: 'off' })
      const by = await t.owner({ queues: ['off'] })
      const [put] = await t.fetch(by, 'off', 1)
      const text = put.text.replace('"hk_run"', '"hk_attempt":1,"hk_run"')
      const score = 5
      const away = done(put, { move: { to: 'schedule', text, score }, effects: effectsOf(put, { status: 'enqueued' }) })
      await t.settleAndFetch(by, { settlements: [away] })
      // The other job has the place.
      expect(await argsIn(t, 'off')).toEqual([[[2, 3]]])
      const back = effectsOf(put, { status: 'enqueued', window: 'keep' })
      ;(back[0] as EventEffect).window = 'enter'
      const to = { to: 'queue', queue: 'off', text, end: 'back' } as const
      expect(await t.store.jobSets.swap('schedule', [{ text, score, to, effects: back }], NOW)).toEqual(['ok'])
      expect(await expectExact(t, off)).toMatchObject({ inWindow: 1, backlog: 1, counts: counts({ enqueued: 4 }) })
      const [second] = await t.fetch(by, 'off', 1)
      await t.settleAndFetch(by, { settlements: [ends(second)] })
      expect(await t.waiting('off')).toEqual([text])
      expect(await expectExact(t, off)).toMatchObject({
        inWindow: 1,
        backlog: 0,
        counts: counts({ enqueued: 2, finished: 2 }),
      })
    },
  },
  {
    name: 'cancelled rows of a task are reported while they run, whichever rows of the job they are',
    async run(t) {
      const task = await taskWith(t, 1, 8, { rowsPerJob: 2, window: 2 })
      const owner = await t.owner()
      const [fetched] = await t.fetch(owner, 'q', 1)
      await t.settleAndFetch(owner, { started: startsOf(fetched) })
      await t.store.tasks.cancel(task.id, null, NOW)
      const answer = await t.store.tasks.cancelRows(task.id, 100, NOW)
      expect(answer.cancelled).toBe(6)
      expect(answer.maybeRunning).toEqual(expect.arrayContaining([jidOf(task.id, 0), jidOf(task.id, 1)]))
      await t.settleAndFetch(owner, { settlements: [ends(fetched, { status: 'cancelled' })] })
      expect(await expectExact(t, task)).toMatchObject({
        state: 'cancelled',
        inWindow: 0,
        counts: counts({ cancelled: 8 }),
      })
    },
  },
  {
    name: 'ten thousand cancelled rows are reported while they run',
    async run(t) {
      const task = await taskWith(t, 1, 10_000, { rowsPerJob: 1000, window: 10 })
      const owner = await t.owner()
      for (const fetched of await t.fetch(owner, 'q', 10)) {
        await t.settleAndFetch(owner, { started: startsOf(fetched) })
      }
      await t.store.tasks.cancel(task.id, null, NOW)
      expect((await cancelAll(t, task, 1000)).size).toBe(10_000)
    },
  },
  {
    name: 'a thousand rows of one job have a thousand separate ends',
    async run(t) {
      const task = await taskWith(t, 1, 3000, { rowsPerJob: 1000, window: 2 })
      const owner = await t.owner()
      const [fetched] = await t.fetch(owner, 'q', 1)
      expect(sizeOf(fetched)).toBe(1000)
      expect(
        (await t.settleAndFetch(owner, { settlements: [done(fetched, { also: branchesOf(fetched) })] })).settled,
      ).toEqual(['ok'])
      expect(await expectExact(t, task)).toMatchObject({ inWindow: 2, backlog: 1999 })
    },
  },
  {
    name: 'any outcome of jobs of several rows keeps the ledger exact, and all rows end (property)',
    seconds: 60,
    async run(t) {
      let number = 0
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 1, max: 3 }),
          fc.array(fc.constantFrom(...COMMANDS), { minLength: 15, maxLength: 60, size: 'max' }),
          async (rowsPerJob, window, commands) => {
            const queue = `g${++number}`
            const task = await taskWith(t, number + 100, 12, { rowsPerJob, window, queue })
            const life = new Life(t, task, await t.owner({ queues: [queue] }))
            for (const command of commands) {
              await life.do(command)
              await expectExact(t, task)
              expect((await record(t, task)).inWindow).toBeLessThanOrEqual(window)
            }
            await life.drain()
            expect(await expectExact(t, task)).toMatchObject({ state: 'done', inWindow: 0, backlog: 0 })
          },
        ),
        { seed: t.seed, numRuns: 40, interruptAfterTimeLimit: 4000 },
      )
    },
  },
]

function indexesOf({ text }: { text: string }): number[] {
  const { hk_rows, jid } = payloadOf({ text }) as { hk_rows?: number[]; jid: string }
  return hk_rows ?? [Number.parseInt(jid.slice(16), 16)]
}

function sizeOf(fetched: { text: string }): number {
  return indexesOf(fetched).length
}

/** The same change of each row of a job. */
export function effectsOf(fetched: { text: string }, more: Partial<EventEffect> = {}): EventEffect[] {
  const task = payloadOf(fetched).jid.slice(0, 16)
  return indexesOf(fetched).map((index) => ({ ...change(fetched, more), jid: jidOf(task, index) }))
}

/** The start of each row of a job. */
function startsOf(fetched: FetchedJob, attempt = 1) {
  const effects = effectsOf(fetched, { attempt, status: 'working', window: 'keep' })
  return effects.map((effect) => ({ queue: fetched.queue, ticket: fetched.ticket, effects: [effect] }))
}

function ends(fetched: FetchedJob, more: Partial<EventEffect> = {}): Settlement {
  return done(fetched, { effects: effectsOf(fetched, more) })
}

/** Each row as a job of its own, on its way back to the queue after an attempt. */
export function branchesOf(fetched: FetchedJob, attempt = 1): Branch[] {
  const { hk_rows: _, args, ...rest } = payloadOf(fetched) as ReturnType<typeof payloadOf> & { hk_rows?: number[] }
  const effects = effectsOf(fetched, { attempt, status: 'enqueued', window: 'enter' })
  return effects.map((effect, i) => {
    const row = { ...rest, args: [[(args[0] as unknown[])[i]]], jid: effect.jid, hk_attempt: attempt }
    return { to: { to: 'queue', queue: fetched.queue, text: JSON.stringify(row), end: 'front' }, effects: [effect] }
  })
}

const COMMANDS = ['take', 'take', 'finish', 'finish', 'apart', 'some', 'release', 'away', 'back', 'begin'] as const

class Life {
  readonly #t: Bench
  readonly #task: TaskSpec
  readonly #owner: string
  readonly #random: () => number
  #held: FetchedJob[] = []

  constructor(t: Bench, task: TaskSpec, owner: string) {
    this.#t = t
    this.#task = task
    this.#owner = owner
    this.#random = chance(t.seed)
  }

  async do(command: (typeof COMMANDS)[number]): Promise<void> {
    if (command === 'take') this.#held.push(...(await this.#t.fetch(this.#owner, this.#task.queue, 1)))
    else if (command === 'back') await this.#back()
    else if (command === 'begin') await this.#begin()
    else await this.#end(command)
  }

  async #begin(): Promise<void> {
    const [fetched] = this.#held
    if (!fetched) return
    const started = startsOf(fetched, attemptOf(fetched))
    expect((await this.#t.settleAndFetch(this.#owner, { started })).started).toEqual(started.map(() => 'ok'))
  }

  async #end(how: 'finish' | 'apart' | 'some' | 'release' | 'away'): Promise<void> {
    const fetched = this.#held.splice(Math.floor(this.#random() * this.#held.length), 1)[0]
    if (!fetched) return
    const attempt = attemptOf(fetched)
    const settlements = [this.#settlement(fetched, attempt, how)]
    expect((await this.#t.settleAndFetch(this.#owner, { settlements })).settled).toEqual(['ok'])
    expect((await this.#t.settleAndFetch(this.#owner, { settlements })).settled).toEqual(['fenced'])
  }

  #settlement(fetched: FetchedJob, attempt: number, how: 'finish' | 'apart' | 'some' | 'release' | 'away'): Settlement {
    const next = fetched.text.replace(/,"hk_attempt":\d+/, '').replace(/}$/, `,"hk_attempt":${attempt}}`)
    const again = { attempt, status: 'enqueued' as EventStatus }
    if (how === 'release') {
      const move = { to: 'queue', queue: fetched.queue, text: next, end: 'front' } as const
      return release(fetched, { move, effects: effectsOf(fetched, { ...again, window: 'keep' }) })
    }
    if (how === 'away') {
      const move = { to: 'schedule', text: next, score: 1 } as const
      return done(fetched, { move, effects: effectsOf(fetched, { ...again, window: 'leave' }) })
    }
    if (how === 'finish') return ends(fetched, { attempt })
    const branches = branchesOf(fetched, attempt)
    if (how === 'apart') return done(fetched, { also: branches.toReversed() })
    // Every other one is done.
    const effects = effectsOf(fetched, { attempt }).filter((_, i) => i % 2 === 0)
    return done(fetched, { effects, also: branches.filter((_, i) => i % 2 === 1) })
  }

  /** What was put off comes back. */
  async #back(): Promise<void> {
    const { queue } = this.#task
    const entries = await this.#t.store.jobSets.page('schedule', { limit: 100 })
    const swaps = entries
      .filter(({ text }) => text.includes(this.#task.id))
      .map(({ text, score }) => {
        const effects = effectsOf({ text }, { attempt: attemptOf({ text }) - 1, status: 'enqueued', window: 'keep' })
        const [first] = effects
        if (first) first.window = 'enter'
        return { text, score, to: { to: 'queue' as const, queue, text, end: 'back' as const }, effects }
      })
    expect(await this.#t.store.jobSets.swap('schedule', swaps, NOW)).toEqual(swaps.map(() => 'ok'))
  }

  async drain(): Promise<void> {
    for (;;) {
      await this.#back()
      this.#held.push(...(await this.#t.fetch(this.#owner, this.#task.queue, 10)))
      if (this.#held.length === 0) return
      await this.#end('finish')
    }
  }
}

function attemptOf(fetched: { text: string }): number {
  return ((payloadOf(fetched) as { hk_attempt?: number }).hk_attempt ?? 0) + 1
}
