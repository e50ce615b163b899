import { expect } from 'vitest'
import type { ProcessRecord } from '#dist/store/contract.js'
import { type Case, NOW, until } from '../bench.ts'

/** The list of processes, and signals. */
export const processes: Case[] = [
  {
    name: 'a process is listed as in its last heartbeat',
    async run(t) {
      expect(await t.store.workers.heartbeat(record('host:1'), 60)).toMatchObject({ signal: null, known: false })
      await t.store.workers.heartbeat(record('host:2', { busy: 3 }), 60)
      await t.store.workers.heartbeat(record('host:1', { busy: 7, quiet: true, beat: NOW + 10_000 }), 60)
      const seen = (await t.store.workers.processes()).sort((a, b) => (a.identity < b.identity ? -1 : 1))
      expect(seen).toEqual([
        record('host:1', { busy: 7, quiet: true, beat: NOW + 10_000 }),
        record('host:2', { busy: 3 }),
      ])
    },
  },
  {
    name: 'a removed process is not listed',
    async run(t) {
      await t.store.workers.heartbeat(record('host:1'), 60)
      await t.store.workers.heartbeat(record('host:2'), 60)
      await t.store.workers.removeProcess('host:1')
      await t.store.workers.removeProcess('unknown')
      expect((await t.store.workers.processes()).map(({ identity }) => identity)).toEqual(['host:2'])
    },
  },
  {
    name: 'a process without a heartbeat is gone after its seconds',
    async run(t) {
      await t.store.workers.heartbeat(record('host:1'), 0.2)
      await t.store.workers.heartbeat(record('host:2'), 60)
      expect(await t.store.workers.processes()).toHaveLength(2)
      await until('the process is gone', async () => (await t.store.workers.processes()).length === 1)
      expect(await t.store.workers.signal('host:1', 'TERM')).toBe(false)
    },
  },
  {
    name: 'a heartbeat returns whether its process was listed before',
    async run(t) {
      const known = async (seconds: number) => (await t.store.workers.heartbeat(record('host:1'), seconds)).known
      expect(await known(60)).toBe(false)
      expect(await known(0.2)).toBe(true)
      await until('the process is gone', async () => (await t.store.workers.processes()).length === 0)
      expect(await known(60)).toBe(false)
    },
  },
  {
    name: 'signals arrive with the heartbeats, oldest first, each once',
    async run(t) {
      await t.store.workers.heartbeat(record('host:1'), 60)
      await t.store.workers.heartbeat(record('host:2'), 60)
      const signals = ['TTIN', 'CONCURRENCY 20 default', 'TSTP', 'CONCURRENCY 1 my mail', 'TERM'] as const
      for (const signal of signals) expect(await t.store.workers.signal('host:1', signal)).toBe(true)
      expect(await t.store.workers.heartbeat(record('host:2'), 60)).toMatchObject({ signal: null })
      const heard = []
      for (let i = 0; i < 6; i++) heard.push((await t.store.workers.heartbeat(record('host:1'), 60)).signal)
      expect(heard).toEqual([...signals, null])
    },
  },
  {
    name: 'a signal to an unknown process is refused',
    async run(t) {
      expect(await t.store.workers.signal('host:1', 'TERM')).toBe(false)
      await t.store.workers.heartbeat(record('host:1'), 60)
      await t.store.workers.removeProcess('host:1')
      expect(await t.store.workers.signal('host:1', 'TERM')).toBe(false)
      expect(await t.store.workers.heartbeat(record('host:1'), 60)).toMatchObject({ signal: null, known: false })
    },
  },
  {
    name: 'running jobs are listed as in the last heartbeats',
    async run(t) {
      const job = (slot: string, n: number) => ({ slot, queue: 'q', text: t.job(n), startedAt: NOW + n * 1000 })
      await t.store.workers.heartbeat(record('host:1', { busy: 1 }), 60, [job('a', 9)])
      const far = { ...job('b', 2), progress: { done: 1, total: 2.5, note: 'žluťoučký "kůň"' } }
      await t.store.workers.heartbeat(record('host:1', { busy: 2 }), 60, [job('a', 1), far])
      await t.store.workers.heartbeat(record('host:2', { busy: 1 }), 60, [{ ...job('a', 3), progress: { done: 0 } }])
      await t.store.workers.heartbeat(record('host:3'), 60)
      const shown = (await t.store.workers.running()).sort((x, y) => x.startedAt - y.startedAt)
      expect(shown).toEqual([
        { identity: 'host:1', ...job('a', 1) },
        { identity: 'host:1', ...far },
        { identity: 'host:2', ...job('a', 3), progress: { done: 0 } },
      ])
      await t.store.workers.heartbeat(record('host:1'), 60)
      await t.store.workers.removeProcess('host:2')
      expect(await t.store.workers.running()).toEqual([])
      expect(await t.store.workers.leader()).toBe(null)
    },
  },
  {
    name: 'running jobs that are shown between heartbeats are listed until they end, or until the next heartbeat',
    async run(t) {
      const job = (slot: string, n: number, done?: number) => ({
        ...{ slot, queue: 'q', text: t.job(n), startedAt: NOW + n * 1000 },
        ...(done === undefined ? {} : { progress: { done, total: 2.5, note: 'žluťoučký "kůň"' } }),
      })
      const expectListed = async (...jobs: ReturnType<typeof job>[]) => {
        const listed = await t.store.workers.running()
        expect(listed.sort((x, y) => x.startedAt - y.startedAt)).toEqual([
          ...jobs.map((one) => ({ identity: 'host:1', ...one })),
          { identity: 'host:2', ...job('1', 9) },
        ])
      }
      const show = (running: ReturnType<typeof job>[], ended: string[]) =>
        t.store.workers.showRunning('host:1', 60, running, ended)
      await t.store.workers.heartbeat(record('host:1', { busy: 2 }), 60, [job('1', 1), job('2', 2, 1)])
      await t.store.workers.heartbeat(record('host:2', { busy: 1 }), 60, [job('1', 9)])
      await show([job('2', 2, 2), job('3', 3, 0)], [])
      await expectListed(job('1', 1), job('2', 2, 2), job('3', 3, 0))
      await show([job('3', 3, 1), job('4', 4, 7)], ['1', '2', 'unknown'])
      await expectListed(job('3', 3, 1), job('4', 4, 7))
      await show([], ['3'])
      await expectListed(job('4', 4, 7))
      await show([job('5', 5, 1)], [])
      await t.store.workers.heartbeat(record('host:1'), 60, [job('5', 5, 2)])
      await expectListed(job('5', 5, 2))
      await show([], ['5'])
      await expectListed()
    },
  },
  {
    name: 'a slot that is shown and has ended in one call is listed as it is shown',
    async run(t) {
      const job = (n: number) => ({ slot: '1', queue: 'q', text: t.job(n), startedAt: NOW, progress: { done: n } })
      await t.store.workers.heartbeat(record('host:1'), 60, [job(1)])
      await t.store.workers.showRunning('host:1', 60, [job(2)], ['1'])
      expect(await t.store.workers.running()).toEqual([{ identity: 'host:1', ...job(2) }])
    },
  },
  {
    name: 'a running job that ended stays out of the list while its process and another one show theirs at once',
    shared: true,
    async run(t) {
      const other = await t.another()
      const job = (n: number) => ({
        slot: `${n}`,
        queue: 'q',
        text: t.job(n),
        startedAt: NOW + n,
        progress: { done: n },
      })
      await t.store.workers.heartbeat(record('host:1'), 60)
      await other.workers.heartbeat(record('host:2'), 60)
      for (let n = 1; n <= 20; n++) {
        await Promise.all([
          t.store.workers.showRunning('host:1', 60, [job(n)], [`${n - 1}`]),
          other.workers.showRunning('host:2', 60, [job(n)], [`${n - 1}`]),
        ])
        const listed = (await t.store.workers.running()).map(({ identity, slot }) => `${identity} ${slot}`)
        expect(listed.sort()).toEqual([`host:1 ${n}`, `host:2 ${n}`])
      }
    },
  },
  {
    name: 'running jobs of a process that is not listed are not listed either',
    async run(t) {
      const job = { slot: 'a', queue: 'q', text: t.job(1), startedAt: NOW, progress: { done: 1 } }
      await t.store.workers.showRunning('host:1', 60, [job], [])
      expect(await t.store.workers.running()).toEqual([])
      await t.store.workers.heartbeat(record('host:1'), 60, [job])
      await t.store.workers.removeProcess('host:1')
      await t.store.workers.showRunning('host:1', 60, [job], [])
      expect([await t.store.workers.running(), await t.store.workers.processes()]).toEqual([[], []])
      await t.store.workers.heartbeat(record('host:1'), 60)
      expect(await t.store.workers.running()).toEqual([])
    },
  },
  {
    name: 'the running jobs of a removed process are not listed',
    async run(t) {
      await t.store.workers.heartbeat(record('host:1'), 0.2, [
        { slot: 'a', queue: 'q', text: t.job(1), startedAt: NOW },
      ])
      await until('the process is gone', async () => (await t.store.workers.running()).length === 0)
    },
  },
  {
    name: 'a signal sent by another connection arrives',
    shared: true,
    async run(t) {
      const other = await t.another()
      await t.store.workers.heartbeat(record('host:1'), 60)
      expect(await other.workers.processes()).toEqual([record('host:1')])
      expect(await other.workers.signal('host:1', 'TSTP')).toBe(true)
      expect(await t.store.workers.heartbeat(record('host:1'), 60)).toMatchObject({ signal: 'TSTP', known: true })
    },
  },
]

function record(identity: string, more: Partial<ProcessRecord> = {}): ProcessRecord {
  return {
    identity,
    info: JSON.stringify({ hostname: 'žluťoučký', pid: 1, queues: ['q'], labels: [] }),
    concurrency: 10,
    busy: 0,
    beat: NOW,
    quiet: false,
    rss: 123_456,
    ...more,
  }
}
