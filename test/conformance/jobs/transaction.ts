import { expect } from 'vitest'
import { type Bench, type Case, NOW, toQueue } from '../bench.ts'
import { single } from '../tasks/tracked.ts'

/** Transactions in which the app writes, too. A store without transactions has null. */
export const transaction: Case[] = [
  {
    name: 'jobs of a transaction are stored with its writes',
    async run(t) {
      await transactions(t, async (transact) => {
        await transact(async (db) => {
          db.exec('CREATE TABLE mine (n INTEGER)')
          db.prepare('INSERT INTO mine VALUES (?)').run(7)
          return [toQueue('q', t.job(1)), { to: 'schedule', text: t.job(2), score: 2e9 }]
        })
        expect(await t.waiting('q')).toEqual([t.job(1)])
        expect(await t.store.jobSets.size('schedule')).toBe(1)
        await transact(async (db) => {
          expect(db.prepare('SELECT n FROM mine').all()).toMatchObject([{ n: 7 }])
          return []
        })
      })
    },
  },
  {
    name: 'a transaction that fails stores nothing, and the next one works',
    async run(t) {
      await transactions(t, async (transact) => {
        const no = new Error('no')
        const failing = transact(async (db) => {
          db.exec('CREATE TABLE mine (n INTEGER)')
          throw no
        })
        await expect(failing).rejects.toBe(no)
        await transact(async (db) => {
          db.exec('CREATE TABLE mine (n INTEGER)')
          return [toQueue('q', t.job(1))]
        })
        expect(await t.waiting('q')).toEqual([t.job(1)])
      })
    },
  },
  {
    name: 'ordered jobs of a transaction are stored with its writes, or not at all',
    async run(t) {
      await transactions(t, async (transact) => {
        const batch = (id: string, score: number) => {
          const items = [{ id, payload: '"v"', score, performIn: 1 }]
          return { to: 'ordered', queue: 'o', shards: 2, items } as const
        }
        await transact(async (db) => {
          db.exec('CREATE TABLE mine (n INTEGER)')
          return [batch('1', 1), toQueue('q', t.job(1)), batch('2', 2), batch('1', 0.5)]
        })
        const waiting = () => t.store.ordered.waiting('o', 'id', { limit: 9, payloads: 9 })
        const told = [
          { id: '1', payloads: [['"v"', 0.5]] },
          { id: '2', payloads: [['"v"', 2]] },
        ]
        expect(await waiting()).toMatchObject(told)
        const wrong = transact(async (db) => {
          db.exec('CREATE TABLE more (n INTEGER)')
          return [toQueue('q', t.job(2)), batch('3', 1), batch('4', Number.NaN)]
        })
        await expect(wrong).rejects.toMatchObject({ code: 'INVALID_JOB' })
        expect(await waiting()).toMatchObject(told)
        expect(await t.waiting('q')).toEqual([t.job(1)])
        await transact(async (db) => {
          db.exec('CREATE TABLE more (n INTEGER)')
          return []
        })
      })
    },
  },
  {
    name: 'tracked jobs of a transaction are stored with their tasks and its writes, or not at all',
    async run(t) {
      await transactions(t, async (transact) => {
        const { task, item, text } = single(1)
        const other = single(2)
        await transact(async (db) => {
          db.exec('CREATE TABLE mine (n INTEGER)')
          return [toQueue('q', t.job(1)), { task, item }]
        })
        expect(await t.store.tasks.find(task.id)).toMatchObject({ state: 'running', total: 1, inWindow: 1 })
        expect(await t.waiting('q')).toEqual([t.job(1), text])
        const wrong = transact(async (db) => {
          db.exec('CREATE TABLE mine (n INTEGER)')
          return [{ task: other.task, item: other.item }]
        })
        await expect(wrong).rejects.toThrow('already exists')
        expect(await t.store.tasks.find(other.task.id)).toBe(null)
        expect(await t.waiting('q')).toHaveLength(2)
      })
    },
  },
  {
    name: 'concurrent calls are not part of a transaction, and each transaction runs once, in order',
    async run(t) {
      await transactions(t, async (transact) => {
        const order: number[] = []
        const failing = (n: number) =>
          transact(async () => {
            order.push(n)
            await Promise.resolve()
            throw new Error('no')
          }).catch(() => {})
        await Promise.all([
          t.push('q', t.job(1)),
          failing(1),
          t.push('q', t.job(2)),
          t.store.jobs.push([{ to: 'dead', text: t.job(4), score: 1 }], NOW),
          failing(2),
          transact(async () => {
            order.push(3)
            return [toQueue('q', t.job(3))]
          }),
          failing(4),
        ])
        expect(order).toEqual([1, 2, 3, 4])
        expect(await t.waiting('q')).toEqual([t.job(1), t.job(2), t.job(3)])
        expect(await t.store.jobSets.size('dead')).toBe(1)
      })
    },
  },
]

type Transact = (work: Parameters<NonNullable<Bench['store']['jobs']['transaction']>>[0]) => Promise<void>

async function transactions(t: Bench, use: (transact: Transact) => Promise<void>): Promise<void> {
  if (t.store.jobs.transaction) await use((work) => t.store.jobs.transaction?.(work, NOW) as Promise<void>)
  else expect(t.store.jobs.transaction).toBe(null)
}
