import pg from 'pg'
import { expect, test } from 'vitest'
import type { FetchedJob, Settlement, Store } from '#dist/store/contract.js'
import { writerLockOf } from '#dist/store/postgres/server/lock.js'
import { type Bench, NOW, until, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import {
  begin,
  change,
  counts,
  expectExact,
  finish,
  jidOf,
  moveToDead,
  PRODUCER,
  payloadOf,
  postpone,
  record,
  rows,
  single,
  spec,
  taskWith,
} from '../conformance/tasks/tracked.ts'
import { onPostgres } from './suite.ts'

onPostgres('rows of tasks in PostgreSQL', () => {
  test('rows begin and finish while a step for another task has not been committed', () =>
    withBench(postgres, async (t) => {
      const [busy, task] = [await taskWith(t, 1, 9, { queue: 'busy' }), await taskWith(t, 2, 9)]
      const owner = await t.owner()
      const taken: FetchedJob[] = await t.fetch(owner, 'q', 3)
      await withClient(t, async (client) => {
        await client.query('BEGIN')
        await client.query('SELECT pg_advisory_xact_lock_shared($1)', [writerLockOf('highkiq')])
        await client.query(`SELECT 1 FROM highkiq.task_record WHERE id = $1 FOR UPDATE`, [busy.id])
        const { started } = await t.settleAndFetch(owner, { started: taken.map((one) => begin(one)) })
        expect(started).toEqual(['ok', 'ok', 'ok'])
        const settlements = taken.map((one) => finish(one))
        const answer = await t.settleAndFetch(owner, { settlements, fetch: { queues: ['q'], n: 2 } })
        expect(answer.settled).toEqual(['ok', 'ok', 'ok'])
        expect(answer.fetched.map((one) => payloadOf(one).args)).toEqual([[3], [4]])
        await client.query('ROLLBACK')
      })
      expect(await expectExact(t, task)).toMatchObject({
        inWindow: 3,
        backlog: 3,
        counts: counts({ enqueued: 6, finished: 3 }),
      })
    }))

  test('a step that can apply only a part of its rows at once applies all of them', () =>
    withBench(postgres, async (t) => {
      const [one, two] = [await taskWith(t, 1, 5, { window: 2 }), await taskWith(t, 2, 5, { queue: 'r', window: 2 })]
      const owner = await t.owner()
      const taken: FetchedJob[] = await t.fetch(owner, ['q', 'r'], 4)
      // The second task gets a row with a position of its own in the backlog, so its window is refilled row by row.
      await t.settleAndFetch(owner, { settlements: [postpone(taken[2] as FetchedJob, 5)] })
      const { text } = taken[2] as FetchedJob
      const effects = [change({ text }, { status: 'enqueued', window: 'enter' })]
      const to = { to: 'queue', queue: 'r', text, end: 'back' } as const
      await t.store.jobSets.swap('retry', [{ text, score: 5, to, effects }], NOW)
      const others = [taken[0], taken[1], taken[3]] as FetchedJob[]
      const { settled } = await t.settleAndFetch(owner, { settlements: others.map((job) => finish(job)) })
      expect(settled).toEqual(['ok', 'ok', 'ok'])
      expect(await expectExact(t, one)).toMatchObject({
        inWindow: 2,
        backlog: 1,
        counts: counts({ finished: 2, enqueued: 3 }),
      })
      expect(await expectExact(t, two)).toMatchObject({
        inWindow: 2,
        backlog: 2,
        counts: counts({ finished: 1, enqueued: 4 }),
      })
      expect(await t.waiting('r')).toContain(text)
    }))

  test('many tracked jobs begin and finish, and their tasks end, in one step each', () =>
    withBench(postgres, async (t) => {
      const jobs = Array.from({ length: 20 }, (_, i) => single(i + 1))
      await t.store.tasks.pushTracked(jobs, NOW)
      const owner = await t.owner()
      const taken: FetchedJob[] = await t.fetch(owner, 'q', 20)
      const started = taken.map((one) => begin(one))
      expect((await t.settleAndFetch(owner, { started })).started).toEqual(started.map(() => 'ok'))
      const settlements = taken.map((one, i) => finish(one, { result: `${i}` }))
      await t.settleAndFetch(owner, { now: NOW + 5, settlements })
      for (const [i, { task }] of jobs.entries()) {
        const ended = { state: 'done', finishedAt: NOW + 5, counts: counts({ finished: 1 }) }
        expect(await expectExact(t, task)).toMatchObject(ended)
        expect(await t.store.tasks.event(jidOf(task.id, 0))).toMatchObject({ status: 'finished', result: `${i}` })
      }
      expect(await t.store.tasks.expired(Number.MAX_SAFE_INTEGER, 100)).toHaveLength(20)
    }))

  test('workers on four connections, two producers and a person at the same time keep the counts of all tasks exact', () =>
    withBench(postgres, async (t) => {
      const tasks = [1, 2, 3].map((n) => spec(n, { window: 5 + n, queue: n === 3 ? 'r' : 'q' }))
      for (const task of tasks) await t.store.tasks.create(task)
      const stores = [t.store, await t.another(), await t.another(), await t.another()]
      const ran = new Set<string>()
      let isOpen = true
      const work = async (store: Store) => {
        const owner = await t.owner({ store, queues: ['q', 'r'] })
        let begun: FetchedJob[] = []
        while (isOpen || begun.length > 0) {
          const settlements = begun.map((one) => settlement(t, one))
          const answer = await t.settleAndFetch(owner, { settlements, fetch: { queues: ['q', 'r'], n: 4 } }, store)
          expect(answer.settled).toEqual(settlements.map(() => 'ok'))
          begun = answer.fetched
          for (const one of begun) {
            const { jid } = payloadOf(one)
            expect(ran.has(jid)).toBe(false)
            ran.add(jid)
          }
          if (begun.length === 0 || t.dice(2) === 0) continue
          const started = begun.map((one) => begin(one))
          expect((await t.settleAndFetch(owner, { started }, store)).started).toEqual(started.map(() => 'ok'))
        }
      }
      const add = async (store: Store, number: 0 | 1 | 2) => {
        const { id } = tasks[number] as { id: string }
        for (let from = 0; from < 200; from += 25) await store.tasks.addRows(id, PRODUCER, from, rows(from, 25), NOW)
        await store.tasks.endAdding(id, PRODUCER, NOW)
      }
      const control = async () => {
        const { id } = tasks[2] as { id: string }
        while (isOpen) {
          await t.store.tasks.change(id, { paused: true }, NOW)
          await t.store.tasks.change(id, { paused: false, window: 1 + t.dice(9) }, NOW)
        }
      }
      const end = async () => {
        await Promise.all([add(t.store, 0), add(stores[1] as Store, 1), add(stores[2] as Store, 2)])
        await until('all tasks are done', async () => (await states(t, tasks)).every((state) => state === 'done'), 40)
        isOpen = false
      }
      await Promise.all([...stores.map(work), control(), end()])
      expect(ran.size).toBe(600)
      for (const task of tasks)
        expect(await expectExact(t, task)).toMatchObject({ total: 200, backlog: 0, inWindow: 0 })
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 600, fetched: 0, enqueued: 0, backlog: 0 })
    }))

  test('the app reads tasks and rows in SQL', () =>
    withBench(postgres, async (t) => {
      const task = spec(1, {
        name: 'Import',
        // PostgreSQL reads no JSON with U+0000 or half of a surrogate pair.
        meta: '{"columns":["\\u0000"],"own":{"tenant":7,"title":"\\ud83dab","path":"C:\\\\u"}}',
        labels: { user: 'ž' },
        keepArgs: 'rejected',
      })
      await t.store.tasks.create(task)
      const row = { number: 8, source: '["x"]', args: '["\\u0000"]' }
      await t.store.tasks.addRows(task.id, PRODUCER, 0, [...rows(0, 2), row], NOW)
      const owner = await t.owner()
      const [first, second] = await t.fetch(owner, 'q', 3)
      const settlements = [
        finish(first, { result: '{"id":5}', startedAt: NOW }),
        moveToDead(second, 5, { code: 'TypeError' }),
      ]
      await t.settleAndFetch(owner, { settlements })
      await withClient(t, async (client) => {
        const { rows: found } = await client.query(`SELECT * FROM highkiq.task WHERE meta->>'tenant' = '7'`)
        expect(found).toMatchObject([
          {
            ...{ id: task.id, name: 'Import', job: 'RowJob', queue: 'q', state: 'adding', run: '1', single: false },
            ...{ total: '3', enqueued: '1', working: '0', finished: '1', failed: '0', error: '1', cancelled: '0' },
            ...{
              meta: { tenant: 7, title: '\ufffdab', path: 'C:\\u' },
              labels: { user: 'ž' },
              created_at: new Date(NOW),
              progress_at: new Date(NOW),
            },
            finished_at: null,
          },
        ])
        const { rows: events } = await client.query(`SELECT * FROM highkiq.event WHERE task = $1 ORDER BY index`, [
          task.id,
        ])
        const common = { task: task.id, job: 'RowJob', run: 1 }
        expect(events).toEqual([
          {
            ...{
              ...common,
              index: '0',
              jid: jidOf(task.id, 0),
              number: null,
              status: 'finished',
              code: null,
              attempts: 1,
            },
            ...{ args: null, result: { id: 5 }, started_at: new Date(NOW), finished_at: new Date(NOW) },
          },
          {
            ...{ ...common, index: '1', jid: jidOf(task.id, 1), number: null, status: 'error', code: 'TypeError' },
            ...{ attempts: 1, args: [1], result: null, started_at: null, finished_at: new Date(NOW) },
          },
          {
            ...{
              ...common,
              index: '2',
              jid: jidOf(task.id, 2),
              number: '8',
              status: 'enqueued',
              code: null,
              attempts: 0,
            },
            ...{ args: ['\0'], result: null, started_at: null, finished_at: null },
          },
        ])
        await t.store.tasks.delete(task.id, 1)
        expect((await client.query(`SELECT * FROM highkiq.task`)).rows).toEqual([])
        expect((await client.query(`SELECT * FROM highkiq.event`)).rows).toEqual([])
      })
    }))
})

/** Most rows finish; some are rejected, and so take more than one statement. */
function settlement(t: Bench, job: FetchedJob): Settlement {
  if (t.dice(20) > 0) return finish(job)
  return finish(job, { status: 'failed', code: 'invalid', messages: [{ at: NOW, code: 'told', params: {} }] })
}

async function states(t: Bench, tasks: readonly { id: string }[]): Promise<string[]> {
  return Promise.all(tasks.map(async (task) => (await record(t, task)).state))
}

/** Runs `use` with a connection of the app to the database of the store. */
async function withClient(t: Bench, use: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(t.url)
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
  }
}
