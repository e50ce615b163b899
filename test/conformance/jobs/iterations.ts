import { expect } from 'vitest'
import type { BatchPush, IterationEffect, IterationState, PushItem } from '#dist/store/contract.js'
import { type Case, done, NOW, release, retry, sure, toQueue } from '../bench.ts'

const state = (executions: number, cursor: unknown, runtime = 1.5): IterationState => ({
  executions,
  runtime,
  cursor: JSON.stringify(cursor),
})
const ends = (jid: string): IterationEffect => ({ kind: 'iteration', jid, state: null })
const keeps = (jid: string, kept: IterationState): IterationEffect => ({ kind: 'iteration', jid, state: kept })

/** The stored states of iterations. */
export const iterations: Case[] = [
  {
    name: 'the last saved state is found; other jobs have none',
    async run(t) {
      expect(await t.store.jobs.saveIteration('one', state(1, 5, 0.25), NOW)).toBe(true)
      await t.store.jobs.saveIteration('one', state(1, { page: 'ü"\n', n: [1] }, 2.75), NOW)
      await t.store.jobs.saveIteration('two', state(3, null, 0), NOW)
      expect(await t.store.jobs.iterations(['two', 'none', 'one'])).toEqual([
        { executions: 3, runtime: 0, cursor: 'null', cancelled: null },
        null,
        { executions: 1, runtime: 2.75, cursor: '{"page":"ü\\"\\n","n":[1]}', cancelled: null },
      ])
      expect(await t.store.jobs.iterations([])).toEqual([])
    },
  },
  {
    name: 'an execution changes nothing once a later one has saved its state',
    async run(t) {
      await t.store.jobs.saveIteration('j', state(2, 'later'), NOW)
      expect(await t.store.jobs.saveIteration('j', state(1, 'earlier'), NOW)).toBe(false)
      expect(await t.store.jobs.iterations(['j'])).toMatchObject([{ executions: 2, cursor: '"later"' }])
      expect(await t.store.jobs.saveIteration('j', state(2, 'on'), NOW)).toBe(true)
      expect(await t.store.jobs.saveIteration('j', state(3, 'and on'), NOW)).toBe(true)
    },
  },
  {
    name: 'a job that was cancelled before it ran has only that; the first time stays, and so does a saved state',
    async run(t) {
      await t.store.cancellations.request('j', NOW)
      const [first] = await t.store.jobs.iterations(['j'])
      expect(first).toEqual({ executions: 0, runtime: 0, cursor: null, cancelled: expect.any(Number) })
      await t.store.cancellations.request('j', NOW + 5000)
      expect(await t.store.jobs.iterations(['j'])).toEqual([first])
      expect(await t.store.jobs.saveIteration('j', state(1, 7), NOW)).toBe(true)
      expect(await t.store.jobs.iterations(['j'])).toEqual([{ ...first, executions: 1, runtime: 1.5, cursor: '7' }])
      await t.store.cancellations.withdraw('j', NOW)
      expect(await t.store.jobs.iterations(['j'])).toEqual([
        { executions: 1, runtime: 1.5, cursor: '7', cancelled: null },
      ])
    },
  },
  {
    name: 'a settlement saves and deletes iterations in its own step, and a fenced one does not',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4].map((n) => t.job(n)))
      await Promise.all(['a', 'b', 'c', 'd'].map((jid) => t.store.jobs.saveIteration(jid, state(1, jid), NOW)))
      const owner = await t.owner()
      const [a, b, c, d] = await t.fetch(owner, 'q', 4)
      const { settled } = await t.settleAndFetch(owner, {
        settlements: [
          done(a, { effects: [ends('a')] }),
          retry(b, 9, { effects: [keeps('b', state(2, 'failed here'))] }),
          release(c, { effects: [keeps('c', state(2, 'put back here'))] }),
        ],
      })
      expect(settled).toEqual(['ok', 'ok', 'ok'])
      const again = await t.settleAndFetch(owner, {
        settlements: [
          done(a, { effects: [keeps('a', state(9, 'late'))] }),
          retry(b, 9, { effects: [ends('b')] }),
          done({ ...d, ticket: a.ticket }, { effects: [ends('d')] }),
        ],
      })
      expect(again.settled).toEqual(['fenced', 'fenced', 'fenced'])
      await t.store.jobs.saveIteration('d', state(5, 'd'), NOW)
      await t.settleAndFetch(owner, { settlements: [retry(d, 9, { effects: [keeps('d', state(4, 'overtaken'))] })] })
      expect(await t.store.jobs.iterations(['a', 'b', 'c', 'd'])).toMatchObject([
        null,
        { executions: 2, cursor: '"failed here"' },
        { executions: 2, cursor: '"put back here"' },
        { executions: 5, cursor: '"d"' },
      ])
    },
  },
  {
    name: 'a job that was fetched while its owner waited changes its iteration as well',
    async run(t) {
      const owner = await t.owner()
      await t.push('q', t.job(1))
      const waited = await t.store.workers.waitForJobs(owner, ['q'], 1, 1000, new AbortController().signal)
      const job = waited[0] ?? sure((await t.fetch(owner, 'q'))[0])
      await t.settleAndFetch(owner, { settlements: [release(job, { effects: [keeps('j', state(1, 3))] })] })
      expect(await t.store.jobs.iterations(['j'])).toMatchObject([{ cursor: '3' }])
      const [next] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [done(next, { effects: [ends('j')] })] })
      expect(await t.store.jobs.iterations(['j'])).toEqual([null])
    },
  },
  {
    name: 'a push removes the iteration of its job if the job is stored, also a push with an id and one of a batch',
    async run(t) {
      const { jobs, batches } = t.store
      const save = (jid: string) => jobs.saveIteration(jid, state(1, jid), NOW)
      const item = (jid: string): PushItem => ({
        ...toQueue('q', t.job(jid)),
        unique: { jid, claims: [{ key: `jid:${jid}` }] },
        effects: [ends(jid)],
      })
      const bid = 'abcdef0123456789'
      const none = { parent: null, onComplete: null, onSuccess: null, onDeath: null, job: null }
      const batch: BatchPush = {
        batches: [{ bid, meta: '{}', keep: 1000, createdAt: NOW, ...none }],
        members: [{ bid, id: 'c', item: item('c') }],
      }
      await Promise.all(['a', 'b', 'c', 'd'].map(save))
      expect(await jobs.push([item('a'), { ...item('b'), once: 'b' }], NOW)).toEqual([])
      await batches.push(batch, NOW)
      expect(await jobs.iterations(['a', 'b', 'c'])).toEqual([null, null, null])
      expect(await jobs.iterations(['d'])).toMatchObject([{ cursor: '"d"' }])
      await save('a')
      expect(await jobs.push([item('a')], NOW)).toMatchObject([{ holder: 'a' }])
      expect(await jobs.iterations(['a'])).toMatchObject([{ cursor: '"a"' }])
    },
  },
  {
    name: 'swaps and rescues change iterations',
    async run(t) {
      await Promise.all(['a', 'b'].map((jid) => t.store.jobs.saveIteration(jid, state(1, jid), NOW)))
      await t.store.jobs.push([{ to: 'retry', text: t.job(1), score: 1 }], NOW)
      expect(
        await t.store.jobSets.swap('retry', [{ text: t.job(1), score: 1, to: null, effects: [ends('a')] }], NOW),
      ).toEqual(['ok'])
      await t.push('q', t.job(2))
      const owner = await t.owner()
      const [taken] = await t.fetch(owner, 'q')
      await t.store.workers.claim(owner)
      const to = toQueue('q', taken.text, 'front')
      expect(await t.store.workers.rescue([{ ...taken, owner, to, effects: [ends('b')] }], NOW)).toEqual(['ok'])
      expect(await t.store.jobs.iterations(['a', 'b'])).toEqual([null, null])
    },
  },
]
