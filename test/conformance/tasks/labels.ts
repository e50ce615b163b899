import { expect } from 'vitest'
import type { TaskRecord } from '#dist/store/contract.js'
import { type Bench, type Case, NOW } from '../bench.ts'
import { spec, taskId } from './tracked.ts'

const idsOf = (tasks: readonly TaskRecord[]) => tasks.map(({ id }) => Number.parseInt(id, 16))

function withLabels(t: Bench, number: number, labels: Record<string, string>, createdAt = NOW + number) {
  return t.store.tasks.create(spec(number, { labels, createdAt }))
}

/** Tasks are found by their labels, newest first. */
export const taskLabels: Case[] = [
  {
    name: 'a page has only the tasks with the label, newest first, and goes on behind the last one',
    async run(t) {
      const user = { name: 'user', value: '7' }
      expect(await t.store.tasks.page({ limit: 9, label: user })).toEqual([])
      for (let n = 1; n <= 9; n++) {
        // Some have the same time.
        expect(await withLabels(t, n, { user: n % 3 === 0 ? '8' : '7', shop: 'ž=1 "x"' }, NOW + (n >> 1))).toBe(true)
      }
      await t.store.tasks.create(spec(10))
      const first = await t.store.tasks.page({ limit: 4, label: user })
      expect(idsOf(first)).toEqual([8, 7, 5, 4])
      const { createdAt, id } = first[3] as TaskRecord
      expect(idsOf(await t.store.tasks.page({ limit: 4, label: user, before: { createdAt, id } }))).toEqual([2, 1])
      expect(idsOf(await t.store.tasks.page({ limit: 4, label: { name: 'user', value: '8' } }))).toEqual([9, 6, 3])
      expect(await t.store.tasks.page({ limit: 20, label: { name: 'shop', value: 'ž=1 "x"' } })).toHaveLength(9)
      for (const other of [
        { name: 'user', value: '' },
        { name: 'shop', value: '7' },
        { name: 'user=7', value: '' },
      ]) {
        expect(await t.store.tasks.page({ limit: 9, label: other })).toEqual([])
      }
      expect(await t.store.tasks.page({ limit: 20 })).toHaveLength(10)
    },
  },
  {
    name: 'a deleted task is not found by its labels, and a page is full in spite of it',
    async run(t) {
      const label = { name: 'user', value: '7' }
      for (let n = 1; n <= 5; n++) await withLabels(t, n, { user: '7' })
      for (const n of [5, 3]) while (!(await t.store.tasks.delete(taskId(n), 10)));
      expect(idsOf(await t.store.tasks.page({ limit: 2, label }))).toEqual([4, 2])
      expect(idsOf(await t.store.tasks.page({ limit: 9, label }))).toEqual([4, 2, 1])
      expect(await withLabels(t, 5, { user: '9' })).toBe(true)
      expect(idsOf(await t.store.tasks.page({ limit: 9, label }))).toEqual([4, 2, 1])
    },
  },
]
