import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { EventQuery, NewRow } from '#dist/store/contract.js'
import { NOW, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { PRODUCER, rows, single, taskWith } from '../conformance/tasks/tracked.ts'
import { rowsRead } from './reads.ts'
import { onPostgres } from './suite.ts'

onPostgres('plans of statements in PostgreSQL', () => {
  test('are not compiled in any connection of a store', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.queues()
      const query = vi.spyOn(pg.Client.prototype, 'query')
      onTestFinished(() => query.mockRestore())
      await Promise.all([t.push('q', t.job(1)), t.store.jobs.queues(), t.store.metrics.totals()])
      const connections = new Set(query.mock.contexts as pg.Client[])
      expect(connections.size).toBeGreaterThan(1)
      for (const connection of connections) expect((await connection.query('SHOW jit')).rows).toEqual([{ jit: 'off' }])
    }))

  test('a page of the rows of a large task reads no others, also when the statistics say that most tasks have few', () =>
    withBench(postgres, async (t) => {
      await t.store.tasks.pushTracked(
        Array.from({ length: 400 }, (_, i) => ({ task: single(i).task, item: single(i).item })),
        NOW,
      )
      const task = await taskWith(t, 1000, 0, { open: true })
      const messages = [{ at: NOW, code: 'failed', params: {} }]
      const rejected = { status: 'failed', code: 'wrong', messages } as const
      const large: NewRow[] = rows(0, 2000).map((row) => ({ ...row, rejected }))
      await t.store.tasks.addRows(task.id, PRODUCER, 0, large, NOW)
      const client = await t.connect()
      await client.query(
        `INSERT INTO highkiq.message SELECT key, 0, 1, 0, '', '{}' FROM highkiq.task_record WHERE single = 1`,
      )
      await client.query('ANALYZE highkiq.task_row, highkiq.message')
      const all: EventQuery = { status: ['failed'], limit: 5 }
      const some: EventQuery = { indexes: [7, 70, 700, 7, 1999, 5000], limit: 9 }
      for (const query of [all, { ...all, code: 'wrong' }, some]) {
        const read = async () => {
          const events = await t.store.tasks.events(task.id, query)
          expect(events.map(({ messages }) => messages)).toEqual(events.map(() => messages))
          expect(events.map(({ index }) => index)).toEqual(query === some ? [7, 70, 700, 1999] : [0, 1, 2, 3, 4])
        }
        expect(await rowsRead(client, 'message', read)).toBeLessThanOrEqual(5)
        expect(await rowsRead(client, 'task_row', read)).toBeLessThanOrEqual(5)
      }
    }))

  test('a finished job is found by its jid without reading the others', () =>
    withBench(postgres, async (t) => {
      const client = await t.connect()
      const entries = Array.from({ length: 2000 }, (_, n) => ({ text: t.job(n), score: n }))
      for (const to of ['finished', 'dead'] as const) {
        await t.store.jobs.push(
          entries.map((entry) => ({ to, ...entry })),
          NOW,
        )
      }
      await client.query('ANALYZE highkiq.entry')
      const jid = JSON.parse(t.job(7)).jid
      const find = async () => expect(await t.store.jobSets.findFinished(jid)).toEqual(entries[7])
      expect(await rowsRead(client, 'entry', find)).toBe(1)
    }))

  test('the totals read no task that has ended', () =>
    withBench(postgres, async (t) => {
      const ended = Array.from({ length: 400 }, (_, i) => ({ task: single(i).task, item: single(i).item }))
      await t.store.tasks.pushTracked(ended, NOW)
      const client = await t.connect()
      await client.query(`UPDATE highkiq.task_record SET state = 'done', finished = 1, enqueued = 0`)
      await taskWith(t, 1000, 20, { window: 3 })
      await client.query('ANALYZE highkiq.task_record')
      const totals = async () => expect(await t.store.metrics.totals()).toMatchObject({ backlog: 17 })
      expect(await rowsRead(client, 'task_record', totals)).toBe(1)
    }))
})
