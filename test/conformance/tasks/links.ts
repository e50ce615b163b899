import { expect } from 'vitest'
import { type Case, NOW, sure } from '../bench.ts'
import { record, spec, taskId, taskWith, work } from './tracked.ts'

/** The versions of links, which end links with an earlier one. */
export const taskLinks: Case[] = [
  {
    name: 'the links of a task are revoked in each of its states, and nothing else of it changes',
    async run(t) {
      const task = await taskWith(t, 1, 2)
      const revoke = async (version: number) => {
        const before = await record(t, task)
        expect(await t.store.tasks.revokeLinks(task.id)).toBe(true)
        expect(await record(t, task)).toEqual({ ...before, linkVersion: version })
      }
      await revoke(1)
      await t.store.tasks.change(task.id, { paused: true }, NOW)
      await revoke(2)
      await t.store.tasks.change(task.id, { paused: false, name: 'other' }, NOW)
      const owner = await t.owner()
      await work(t, owner)
      expect((await record(t, task)).state).toBe('done')
      await revoke(3)
      await t.store.tasks.startRun(task.id, 1, 'again', NOW)
      expect((await record(t, task)).linkVersion).toBe(3)
    },
  },
  {
    name: 'of links that are revoked at the same time each counts, and other tasks keep theirs',
    async run(t) {
      for (const n of [1, 2]) await t.store.tasks.create(spec(n))
      expect(await Promise.all(Array.from({ length: 9 }, () => t.store.tasks.revokeLinks(taskId(1))))).not.toContain(
        false,
      )
      expect((await record(t, spec(1))).linkVersion).toBe(9)
      expect((await record(t, spec(2))).linkVersion).toBe(0)
    },
  },
  {
    name: 'no links are revoked of a task that is unknown, deleted or sealed',
    async run(t) {
      const { tasks, transfers } = t.store
      expect(await tasks.revokeLinks(taskId(9))).toBe(false)
      const task = await taskWith(t, 1, 0)
      expect(await transfers.freeze(task.id, NOW)).toBe('ok')
      expect(await tasks.revokeLinks(task.id)).toBe(true)
      const { counts } = sure(await tasks.find(task.id))
      expect(await transfers.seal(task.id, 'T', 'there', counts)).toBe(true)
      // What was read may be on its way to the other store.
      expect(sure(await transfers.readTask(task.id, 'T', '')).task?.progress.linkVersion).toBe(1)
      expect(await tasks.revokeLinks(task.id)).toBe(false)
      expect(await transfers.unseal(task.id, 'T')).toBe(true)
      expect((await record(t, task)).linkVersion).toBe(1)
      expect(await tasks.revokeLinks(task.id)).toBe(true)
      while (!(await tasks.delete(task.id, 10)));
      expect(await tasks.revokeLinks(task.id)).toBe(false)
      expect(await tasks.find(task.id)).toBe(null)
    },
  },
  {
    name: 'the links to a list have a version, which is only ever raised',
    async run(t) {
      const { results } = t.store
      expect(await results.linkVersion('user=7')).toBe(0)
      expect(await results.linkVersions()).toEqual({})
      await Promise.all(Array.from({ length: 9 }, () => results.raiseLinkVersion('user=7')))
      await results.raiseLinkVersion('user=%C5%BE', 4)
      await results.raiseLinkVersion('user=7', 5)
      expect(await results.linkVersion('user=7')).toBe(9)
      await results.raiseLinkVersion('user=7', 12)
      await results.raiseLinkVersion('user=7', 12)
      await results.raiseLinkVersion('user=%C5%BE')
      expect(await results.linkVersions()).toEqual({ 'user=7': 12, 'user=%C5%BE': 5 })
      expect(await results.linkVersion('user=8')).toBe(0)
    },
  },
]
