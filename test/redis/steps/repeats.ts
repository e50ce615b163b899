import { expect, test } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { job, NOW, toQueue } from '../../conformance/bench.ts'
import { counts, expectExact, PRODUCER, rows, spec, taskId } from '../../conformance/tracked.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Match } from '../step.ts'
import { insist, openHand } from './hand.ts'
import { command, openStage, type Stage, script } from './stage.ts'

const TASK = spec(1, { window: 2 })
const OWNER = 'here:1:1.0'
const JOIN = { queues: ['q', 'p'], seconds: 60, host: 'here' }
/** A push says more than that. */
const AWAY = /^(STORE_(UNREACHABLE|TIMEOUT)|PUSH_FAILED)$/
const FAULTS: Act[] = ['cut-before', 'cut-before-reply', 'hold', 'hold-reply']

interface Repeat {
  name: string
  match: Match
  /** Its answer is given to `ask`. */
  before?: (stage: Stage) => Promise<unknown>
  ask: (store: Store, given: unknown) => Promise<unknown>
  /** The answer to the first that was carried out, and to one after it. */
  first: unknown
  again: unknown
  /** The request is not the last one of what is asked. */
  half?: boolean
  /** What holds then, however often it was asked. */
  holds: (stage: Stage) => Promise<unknown>
}

const REPEATS: Repeat[] = [
  {
    name: 'making a task',
    match: script('taskCreate'),
    ask: (store) => store.tasks.create(TASK),
    first: true,
    again: false,
    holds: async ({ direct }) => {
      expect(await direct.tasks.find(TASK.id)).toMatchObject({ state: 'adding', total: 0 })
      expect((await direct.tasks.page({ limit: 10 })).map(({ id }) => id)).toEqual([taskId(1)])
    },
  },
  {
    name: 'noting where a task will be',
    match: command('HSETNX'),
    ask: (store) => store.tasks.create(TASK),
    first: true,
    // It is only half of it.
    again: false,
    half: true,
    holds: async ({ direct }) => {
      expect(await direct.tasks.find(TASK.id)).toMatchObject({ state: 'adding', total: 0 })
      expect(await direct.tasks.page({ limit: 10 })).toHaveLength(1)
    },
  },
  {
    name: 'adding rows',
    match: script('taskAddRows'),
    before: ({ direct }) => direct.tasks.create(TASK),
    ask: (store) => store.tasks.addRows(TASK.id, PRODUCER, 0, rows(0, 3), NOW),
    first: { ok: true, total: 3 },
    again: { ok: true, total: 3 },
    holds: async ({ direct }) => {
      expect(await expectExact({ store: direct }, TASK)).toMatchObject({ total: 3, inWindow: 2, backlog: 1 })
      expect(await direct.jobs.peek('q', 0, 10)).toHaveLength(2)
    },
  },
  {
    name: 'adding the last rows',
    match: script('taskEndAdding'),
    before: async ({ direct }) => {
      await direct.tasks.create(TASK)
      await direct.tasks.addRows(TASK.id, PRODUCER, 0, rows(0, 3), NOW)
    },
    ask: (store) => store.tasks.endAdding(TASK.id, PRODUCER, NOW),
    first: { ok: true, total: 3 },
    again: { ok: true, total: 3 },
    holds: async ({ direct }) => {
      const { counts: found, state } = await expectExact({ store: direct }, TASK)
      expect({ found, state }).toEqual({ found: counts({ enqueued: 3 }), state: 'running' })
    },
  },
  {
    name: 'moving due jobs',
    match: script('swap'),
    before: ({ direct }) => direct.jobs.push([{ to: 'schedule', text: job(1), score: 1 }], NOW),
    ask: (store) => store.jobSets.swap('schedule', [{ text: job(1), score: 1, to: toQueue('q', job(1)) }], NOW),
    first: ['ok'],
    again: ['gone'],
    holds: async (stage) => expect(await stage.truth()).toMatchObject({ schedule: [], waiting: [job(1)] }),
  },
  {
    name: 'restoring jobs',
    match: script('rescue'),
    async before(stage) {
      await stage.direct.jobs.push([toQueue('q', job(1))], NOW)
      await (await openHand(stage)).turn({ n: 1 })
      await stage.direct.workers.claim(OWNER, null)
      return (await stage.direct.workers.orphaned(10))[0]?.ticket
    },
    ask: (store, ticket) =>
      store.workers.rescue([{ owner: OWNER, queue: 'q', ticket: String(ticket), to: toQueue('q', job(1)) }], NOW),
    first: ['ok'],
    again: ['gone'],
    holds: async (stage) => expect(await stage.truth()).toMatchObject({ held: [], waiting: [job(1)], owned: [] }),
  },
  {
    name: 'joining',
    match: script('join'),
    ask: (store) => store.workers.join(OWNER, JOIN),
    first: true,
    again: false,
    async holds({ direct, store }) {
      expect(await direct.workers.leases()).toMatchObject([{ owner: OWNER, ended: false }])
      const turn = { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n: 1 } }
      expect(await store.workers.settleAndFetch(OWNER, turn)).toMatchObject({ fenced: false })
    },
  },
  {
    name: 'renewing',
    match: script('renew'),
    before: ({ direct }) => direct.workers.join(OWNER, { ...JOIN, seconds: -5 }),
    ask: (store) => store.workers.renew(OWNER, 60),
    first: true,
    again: true,
    holds: async ({ direct }) => expect(await direct.workers.leases()).toMatchObject([{ ended: false }]),
  },
  {
    name: 'claiming',
    match: script('claim'),
    before: ({ direct }) => direct.workers.join(OWNER, JOIN),
    ask: (store) => store.workers.claim(OWNER, null),
    first: true,
    again: false,
    holds: async ({ direct }) => expect(await direct.workers.leases()).toMatchObject([{ claimed: true }]),
  },
  {
    name: 'leaving',
    match: script('removeOwner'),
    before: ({ store }) => store.workers.join(OWNER, JOIN),
    ask: (store) => store.workers.release(OWNER),
    first: true,
    again: false,
    holds: async ({ direct }) => expect(await direct.workers.leases()).toEqual([]),
  },
  {
    name: 'defining a cron entry',
    match: script('cronDefine'),
    ask: (store) => store.crons.define('nightly', { old: null, text: 'x', tick: NOW }, 60),
    first: true,
    again: false,
    holds: async ({ direct }) =>
      expect(await direct.crons.list()).toMatchObject([{ name: 'nightly', text: 'x', tick: NOW }]),
  },
  {
    name: 'deciding a tick',
    match: script('cronTick'),
    before: ({ direct }) => direct.crons.define('nightly', { old: null, text: 'x', tick: 1 }, 60),
    ask: (store) => {
      const push = { jid: 'jid-2', item: toQueue('q', job(1)), lock: 'l' }
      return store.crons.tick('nightly', { text: 'x', from: 1, to: 2, push }, NOW)
    },
    first: 'ok',
    again: 'gone',
    async holds(stage) {
      expect(await stage.direct.crons.list()).toMatchObject([{ tick: 2, jid: 'jid-2' }])
      expect(await stage.truth()).toMatchObject({ waiting: [job(1)] })
    },
  },
  {
    name: 'letting a cron entry go on',
    match: script('cronPause'),
    async before({ direct }) {
      await direct.crons.define('nightly', { old: null, text: 'x', tick: 1 }, 60)
      await direct.crons.pause('nightly', true, NOW)
    },
    ask: (store) => store.crons.pause('nightly', false, NOW),
    first: true,
    again: true,
    holds: async ({ direct }) => expect(await direct.crons.list()).toMatchObject([{ tick: NOW, paused: false }]),
  },
  {
    name: 'freeing a lock',
    match: script('releaseLock'),
    ask: (store) => store.crons.releaseLock('l', 'me'),
    first: undefined,
    again: undefined,
    holds: async () => {},
  },
  {
    name: 'taking a duty',
    match: script('leaderLock'),
    ask: (store) => store.workers.acquireLock('due', OWNER, 60),
    first: true,
    again: true,
    async holds({ direct }) {
      expect(await direct.workers.acquireLock('due', 'other', 60)).toBe(false)
      expect(await direct.workers.acquireLock('due', OWNER, 60)).toBe(true)
    },
  },
  {
    name: 'giving a duty up',
    match: script('leaderLock'),
    before: ({ direct }) => direct.workers.acquireLock('due', OWNER, 60),
    ask: (store) => store.workers.releaseLock('due', OWNER),
    first: undefined,
    again: undefined,
    holds: async ({ direct }) => expect(await direct.workers.acquireLock('due', 'other', 60)).toBe(true),
  },
]

/** What may be asked again when its answer was lost. */
export function repeats(server: () => RedisServer): void {
  for (const { name, match, before, ask, first, again, half, holds } of REPEATS) {
    for (const act of FAULTS) {
      test.concurrent(`${name}, ${act}: asked again it does no harm`, async (t) => {
        const stage = await openStage(server(), t, { impatient: act.startsWith('hold') })
        const given = await before?.(stage)
        await stage.store.open()
        const step = stage.fault(match, act)
        await expect(ask(stage.store, given)).rejects.toMatchObject({ code: expect.stringMatching(AWAY) })
        await step.happened
        const done = !half && (act === 'cut-before-reply' || act === 'hold-reply')
        expect(await insist(() => ask(stage.store, given))).toEqual(done ? again : first)
        stage.release(step)
        // Behind the late one.
        await stage.ask(['PING'])
        await holds(stage)
        expect(await ask(stage.store, given)).toEqual(again)
        await holds(stage)
      })
    }
  }
}
