import { expect } from 'vitest'
import type { TransactionItem } from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, toQueue } from '../bench.ts'
import type { AppClient } from '../factory.ts'
import { single } from '../tasks/tracked.ts'

/** Pushes in a transaction of the app, on its own connection. A store without them has null. */
export const pushThrough: Case[] = [
  {
    name: 'jobs that are pushed through a connection of the app are there after its commit, in their order, and not before',
    async run(t) {
      await through(t, async (push, client) => {
        await client.query('BEGIN')
        await push(client, [
          toQueue('q', t.job(1)),
          toQueue('p3:q', t.job(2)),
          toQueue('q', t.job(3)),
          toQueue('r', t.job(4)),
        ])
        await push(client, [])
        expect(await t.waiting('q')).toEqual([])
        await client.query('COMMIT')
        expect(await t.waiting('q')).toEqual([2, 1, 3].map((n) => t.job(n)))
        expect(await t.store.jobs.queues(['q', 'r'])).toMatchObject([{ size: 3 }, { size: 1 }])
      })
    },
  },
  {
    name: 'scheduled, unique, tracked and ordered jobs that are pushed through a connection are stored together, at the commit',
    async run(t) {
      await through(t, async (push, client) => {
        const { task, item, text } = single(1)
        const ordered = [{ id: '%1$L', payload: '"\\u0000"', score: 1, performIn: 1 }]
        await client.query('BEGIN')
        await push(client, [
          toQueue('q', t.job(1)),
          { to: 'schedule', text: t.job('%'), score: 2e9 },
          { ...toQueue('q', t.job(3)), unique: { jid: 'a', claims: [{ key: 'k' }] } },
          { task, item },
          { to: 'ordered', queue: 'o', shards: 2, items: ordered },
        ])
        expect([await t.waiting('q'), await t.store.tasks.find(task.id)]).toEqual([[], null])
        await client.query('COMMIT')
        expect(await t.waiting('q')).toEqual([t.job(1), t.job(3), text])
        expect((await t.store.jobSets.page('schedule', { limit: 9 })).map((entry) => entry.text)).toEqual([t.job('%')])
        expect(await t.store.unique.find(['k'], NOW)).toMatchObject([{ holder: 'a' }])
        expect(await t.store.tasks.find(task.id)).toMatchObject({ state: 'running', total: 1 })
        expect(await t.store.ordered.waiting('o', 'id', { limit: 9, payloads: 9 })).toMatchObject([
          { id: '%1$L', payloads: [['"\\u0000"', 1]] },
        ])
      })
    },
  },
  {
    name: 'jobs of a transaction that the app rolls back, or that its end cuts off, are not stored, and keep nobody waiting',
    async run(t) {
      await through(t, async (push, client) => {
        const { task, item } = single(1)
        const all = [
          { ...toQueue('q', t.job(1)), unique: { jid: 'a', claims: [{ key: 'k' }] } },
          { task, item },
        ]
        for (const items of [[toQueue('q', t.job(1))], all]) {
          await client.query('BEGIN')
          await push(client, items)
          await client.query('ROLLBACK')
          const dying = await t.connect()
          await dying.query('BEGIN')
          await push(dying, items)
          await dying.end()
        }
        await t.push('q', t.job(2))
        expect(await t.store.jobs.push([all[0] as never], NOW)).toEqual([])
        expect(await t.waiting('q')).toEqual([t.job(2), t.job(1)])
        expect(await t.store.tasks.find(task.id)).toBe(null)
      })
    },
  },
  {
    name: 'a push through a connection that is refused changes nothing, and the app can commit',
    async run(t) {
      await through(t, async (push, client) => {
        const held = { ...toQueue('q', t.job(1)), unique: { jid: 'a', claims: [{ key: 'k' }] } }
        await t.store.jobs.push([held], NOW)
        const other = { ...toQueue('q', t.job(2)), unique: { jid: 'b', claims: [{ key: 'k' }, { key: 'l' }] } }
        await client.query('BEGIN')
        const full = push(client, [toQueue('q', t.job(3)), { ...toQueue('q', t.job(4)), maxLength: 2 }])
        await expect(full).rejects.toMatchObject({ code: 'QUEUE_FULL' })
        const no = new Error('no')
        const throwing = push(client, [toQueue('q', t.job(3)), other], (pushes) => {
          expect(pushes).toMatchObject([{ holder: 'a' }])
          throw no
        })
        await expect(throwing).rejects.toBe(no)
        // A refused item that nobody minds is left out.
        await push(client, [other, toQueue('q', t.job(5))])
        await client.query('COMMIT')
        expect(await t.waiting('q')).toEqual([t.job(1), t.job(5)])
        expect(await t.store.unique.find(['k', 'l'], NOW)).toMatchObject([{ holder: 'a' }, null])
      })
    },
  },
  {
    name: 'plain jobs of an open transaction keep no other push, no fetch and no settlement waiting',
    async run(t) {
      await through(t, async (push, client) => {
        await client.query('BEGIN')
        await push(client, [toQueue('q', t.job(1)), toQueue('new', t.job(2))])
        await t.push('q', t.job(3))
        await t.push('new', t.job(4))
        const { task, item, text } = single(1)
        await t.store.tasks.pushTracked([{ task, item }], NOW)
        const owner = await t.owner({ queues: ['q', 'new'] })
        const fetched = await t.fetch(owner, ['q', 'new'], 9)
        expect(fetched.map((one) => one.text)).toEqual([t.job(3), text, t.job(4)])
        await t.settleAndFetch(owner, { settlements: fetched.map((one) => done(one)) })
        await client.query('COMMIT')
        expect([await t.waiting('q'), await t.waiting('new')]).toEqual([[t.job(1)], [t.job(2)]])
      })
    },
  },
  {
    name: 'without an open transaction a push through a connection is refused, and stores nothing',
    async run(t) {
      await through(t, async (push, client) => {
        const items: TransactionItem[] = [toQueue('q', t.job(1)), { to: 'schedule', text: t.job(2), score: 2e9 }]
        for (const item of items) await expect(push(client, [item])).rejects.toMatchObject({ code: 'NO_TRANSACTION' })
        expect([await t.waiting('q'), await t.store.jobSets.size('schedule')]).toEqual([[], 0])
      })
    },
  },
]

type Push = (
  client: AppClient,
  items: TransactionItem[],
  refused?: (pushes: readonly { holder: string | null }[]) => void,
) => Promise<unknown>

async function through(t: Bench, use: (push: Push, client: AppClient) => Promise<void>): Promise<void> {
  const { pushThrough } = t.store.jobs
  if (!pushThrough) return expect(pushThrough).toBe(null)
  const push: Push = (client, items, refused) =>
    pushThrough(async (text, values) => (await client.query(text, values)).rows, items, NOW, refused ? { refused } : {})
  await use(push, await t.connect())
}
