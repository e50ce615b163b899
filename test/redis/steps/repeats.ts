import { expect, test } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { job, NOW, toQueue } from '../../conformance/bench.ts'
import { counts, expectExact, PRODUCER, rows, spec, taskId } from '../../conformance/tasks/tracked.ts'
import type { RedisServer } from '../server.ts'
import type { Act, Match } from '../step.ts'
import { command, openStage, type Stage, script } from './stage.ts'
import { insist, openOwner } from './test-owner.ts'

const TASK = spec(1, { window: 2 })
const OWNER = 'here:1:1.0'
const JOIN = { queues: ['q', 'p'], seconds: 60, host: 'here' }
/** Pushes reject with more details than this. */
const AWAY = /^(STORE_(UNREACHABLE|TIMEOUT)|PUSH_FAILED)$/
const FAULTS: Act[] = ['cut-before', 'cut-before-reply', 'hold', 'hold-reply']

interface Repeat {
  name: string
  match: Match
  /** Prepares the call; its result is passed to `ask`. */
  before?: (stage: Stage) => Promise<unknown>
  ask: (store: Store, given: unknown) => Promise<unknown>
  /** The answer to the first call that was carried out, and to a repeated one. */
  first: unknown
  again: unknown
  /** True: the request is not the last one of the call. */
  half?: boolean
  /** Checks the state, which does not depend on the number of calls. */
  holds: (stage: Stage) => Promise<unknown>
}

const REPEATS: Repeat[] = [
  {
    name: 'creating a task',
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
    name: 'storing the queue of a task',
    match: command('HSETNX'),
    ask: (store) => store.tasks.create(TASK),
    first: true,
    // The request is only half of the call.
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
    name: 'rescuing jobs',
    match: script('rescue'),
    async before(stage) {
      await stage.direct.jobs.push([toQueue('q', job(1))], NOW)
      await (await openOwner(stage)).settleAndFetch({ n: 1 })
      await stage.direct.workers.claim(OWNER)
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
    ask: (store) => store.workers.claim(OWNER),
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
    name: 'resuming a cron entry',
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
    name: 'releasing a lock of a cron entry',
    match: script('releaseLock'),
    ask: (store) => store.crons.releaseLock('l', 'me'),
    first: undefined,
    again: undefined,
    holds: async () => {},
  },
  {
    name: 'acquiring a leader lock',
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
    name: 'releasing a leader lock',
    match: script('leaderLock'),
    before: ({ direct }) => direct.workers.acquireLock('due', OWNER, 60),
    ask: (store) => store.workers.releaseLock('due', OWNER),
    first: undefined,
    again: undefined,
    holds: async ({ direct }) => expect(await direct.workers.acquireLock('due', 'other', 60)).toBe(true),
  },
]

/** Calls that may be repeated when their answer was lost. */
export function repeats(server: () => RedisServer): void {
  for (const { name, match, before, ask, first, again, half, holds } of REPEATS) {
    for (const act of FAULTS) {
      test.concurrent(`${name}, ${act}: a repeated call does no harm`, async (t) => {
        const stage = await openStage(server(), t, { impatient: act.startsWith('hold') })
        const given = await before?.(stage)
        await stage.store.open()
        const step = stage.fault(match, act)
        await expect(ask(stage.store, given)).rejects.toMatchObject({ code: expect.stringMatching(AWAY) })
        await step.happened
        const done = !half && (act === 'cut-before-reply' || act === 'hold-reply')
        expect(await insist(() => ask(stage.store, given))).toEqual(done ? again : first)
        stage.release(step)
        // Waits until the server has carried out the late request.
        await stage.ask(['PING'])
        await holds(stage)
        expect(await ask(stage.store, given)).toEqual(again)
        await holds(stage)
      })
    }
  }
}
