import { expect } from 'vitest'
import {
  type FetchedJob,
  type Lease,
  RESCUE_CHARACTERS,
  RESCUE_JOBS,
  type Renewer,
  type Settlement,
  type Store,
} from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release, requestOf, retry, sure, textsOf, toQueue, until } from '../bench.ts'
import { longJob, MANY, startsWithOldest } from './in-order.ts'

/** Leases, and the rescue of the jobs of dead owners. */
export const rescue: Case[] = [
  {
    name: 'an owner joins once: its name is refused while it is known',
    async run(t) {
      const name = t.ownerName()
      const about = { queues: ['q'], seconds: 60, host: 'here' }
      expect(await t.store.workers.join(name, about)).toBe(true)
      expect(await t.store.workers.join(name, about)).toBe(false)
    },
  },
  {
    name: 'an owner settles a job that another call fetched during its join',
    async run(t) {
      for (let n = 0; n < 5; n++) {
        const name = t.ownerName()
        await t.push('q', t.job(n))
        const joining = t.store.workers.join(name, { queues: ['q'], seconds: 60, host: 'here' })
        const beside = await t.settleAndFetch(name, { fetch: { queues: ['q'], n: 1 } })
        expect(await joining).toBe(true)
        const [fetched] = [...beside.fetched, ...(await t.fetch(name, 'q'))]
        expect(await t.settleAndFetch(name, { settlements: [done(sure(fetched))] })).toMatchObject({ settled: ['ok'] })
      }
    },
  },
  {
    name: 'a claimed name is refused while its jobs are not rescued',
    async run(t) {
      const name = await t.owner()
      await t.push('q', t.job(1))
      await t.fetch(name, 'q')
      await t.store.workers.claim(name)
      expect(await t.store.workers.join(name, { queues: ['q'], seconds: 60, host: 'here' })).toBe(false)
      expect(await t.settleAndFetch(name, {})).toMatchObject({ fenced: true })
    },
  },
  {
    name: 'a claimed name is never used again, also without jobs',
    async run(t) {
      const name = await t.owner()
      await t.store.workers.claim(name)
      expect(await t.store.workers.join(name, { queues: ['q'], seconds: 60, host: 'here' })).toBe(false)
      expect(await t.settleAndFetch(name, {})).toMatchObject({ fenced: true })
    },
  },
  {
    name: 'leases returns every owner with its host and lease',
    async run(t) {
      const host = 'boot 7f/pid-ns 1 – "x"'
      const [alive, dead] = [await t.owner({ host }), await t.owner({ host: 'there' })]
      await t.push('q', t.job(1))
      await t.fetch(dead, 'q')
      await t.store.workers.claim(dead)
      const leases = await t.store.workers.leases()
      expect(leases.find(({ owner }) => owner === alive)).toMatchObject({ host, ended: false, claimed: false })
      expect(leases.find(({ owner }) => owner === dead)).toMatchObject({ host: 'there', claimed: true })
    },
  },
  {
    name: 'a lease ends after its seconds, and renewing moves its end',
    async run(t) {
      const owner = await t.owner({ seconds: 0.3 })
      const first = await leaseOf(t, owner)
      expect(first.ended).toBe(false)
      expect(await t.store.workers.renew(owner, 60)).toBe(true)
      const renewed = await leaseOf(t, owner)
      expect(renewed.ends).not.toBe(first.ends)
      expect(await t.store.workers.renew(owner, 0.1)).toBe(true)
      await ended(t, owner)
    },
  },
  {
    name: 'an owner whose lease has ended continues until it is claimed, and gets its lease back by renewing',
    async run(t) {
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const owner = await t.owner({ seconds: 0.05 })
      const [first] = await t.fetch(owner, 'q')
      const lease = await ended(t, owner)
      const answer = await t.settleAndFetch(owner, { settlements: [done(first)], fetch: { queues: ['q'], n: 1 } })
      expect(answer).toMatchObject({ fenced: false, settled: ['ok'] })
      expect(answer.fetched).toHaveLength(1)
      expect(await t.store.workers.renew(owner, 60)).toBe(true)
      expect((await leaseOf(t, owner)).ended).toBe(false)
      expect(await t.store.workers.claim(owner, { ends: lease.ends })).toBe(false)
      expect(await t.fetch(owner, 'q')).toHaveLength(1)
    },
  },
  {
    name: 'renew refuses an unknown, a claimed and a released owner',
    async run(t) {
      const [claimed, departed] = [await t.owner(), await t.owner()]
      await t.store.workers.claim(claimed)
      expect(await t.store.workers.release(departed)).toBe(true)
      expect(await t.store.workers.renew(t.ownerName(), 60)).toBe(false)
      expect(await t.store.workers.renew(claimed, 60)).toBe(false)
      expect(await t.store.workers.renew(departed, 60)).toBe(false)
    },
  },
  {
    name: 'release is refused while the owner has a job, and changes nothing then',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      expect(await t.store.workers.release(owner)).toBe(false)
      expect((await t.settleAndFetch(owner, { settlements: [release(first)] })).settled).toEqual(['ok'])
      expect(await t.store.workers.release(owner)).toBe(true)
      expect((await t.store.workers.leases()).map((lease) => lease.owner)).not.toContain(owner)
      expect(await t.settleAndFetch(owner, { fetch: { queues: ['q'], n: 1 } })).toMatchObject({
        fenced: true,
        fetched: [],
      })
      expect(await t.waiting('q')).toEqual([t.job(1)])
    },
  },
  {
    name: 'a lease can be claimed only with the end that it has',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner({ seconds: 60 })
      await t.fetch(owner, 'q')
      const { ends } = await leaseOf(t, owner)
      expect(await t.store.workers.claim(owner, { ends: ends - 1 })).toBe(false)
      expect(await t.store.workers.claim(owner, { ends: ends + 1 })).toBe(false)
      expect(await t.settleAndFetch(owner, {})).toMatchObject({ fenced: false })
      expect(await t.store.workers.claim(owner, { ends })).toBe(true)
      expect(await leaseOf(t, owner)).toMatchObject({ claimed: true })
      expect(await t.store.workers.claim(owner, { ends })).toBe(false)
    },
  },
  {
    name: 'unrenewed returns the owners without a renewal since a stamp, until they renew or are claimed',
    async run(t) {
      const [ann, bob, dead] = [await t.owner({ seconds: 7 }), await t.owner({ seconds: 9 }), await t.owner()]
      await t.store.workers.claim(dead)
      const { stamp, leases } = await t.store.workers.unrenewed(null)
      expect(leases).toEqual([])
      // A store may take stamps from the clock; the next stamp must be a later one.
      await until('the stamp has passed', async () => {
        await t.store.workers.renew(ann, 7)
        return (await t.store.workers.unrenewed(null)).stamp > stamp
      })
      await t.store.workers.renew(ann, 7)
      const since = await t.store.workers.unrenewed(stamp)
      expect(since.stamp).toBeGreaterThan(stamp)
      expect(since.leases).toMatchObject([{ owner: bob, seconds: 9, claimed: false }])
      expect(since.leases[0]?.stamp).toBeLessThanOrEqual(stamp)
      expect((await t.store.workers.unrenewed(since.stamp)).leases.map(({ owner }) => owner).sort()).toEqual(
        [ann, bob].sort(),
      )
      await t.store.workers.claim(bob)
      expect((await t.store.workers.unrenewed(stamp)).leases).toEqual([])
    },
  },
  {
    name: 'the owners on a machine are those that joined there and are not claimed',
    async run(t) {
      const [here, dead, left, there] = [
        await t.owner({ host: 'here\n1 2' }),
        await t.owner({ host: 'here\n2 3' }),
        await t.owner({ host: 'here\n3 4' }),
        await t.owner({ host: 'there\n1 2' }),
      ]
      await t.store.workers.claim(dead)
      expect(await t.store.workers.release(left)).toBe(true)
      expect(await t.store.workers.ownersOn('here')).toMatchObject([{ owner: here, host: 'here\n1 2' }])
      expect(await t.store.workers.ownersOn('there')).toMatchObject([{ owner: there }])
      expect(await t.store.workers.ownersOn('nowhere')).toEqual([])
    },
  },
  {
    name: 'an owner that is claimed while it joins a queue is claimed there too, or keeps its lease in none',
    shared: true,
    async run(t) {
      const other = await t.another()
      await other.open()
      for (let round = 0; round < 20; round++) {
        await t.push(`p${round}`, t.job(round))
        const owner = await t.owner({ queues: ['q'] })
        const [taken] = await Promise.all([
          t.settleAndFetch(owner, { fetch: { queues: [`p${round}`], n: 1 } }),
          other.workers.claim(owner),
        ])
        expect(await t.settleAndFetch(owner, { fetch: { queues: [`p${round}`], n: 1 } })).toMatchObject({
          fenced: true,
          fetched: [],
        })
        expect(await t.store.workers.orphaned(10)).toHaveLength(taken.fetched.length)
        await rescueAll(other)
        expect(await t.waiting(`p${round}`)).toEqual([t.job(round)])
      }
    },
  },
  {
    name: "a lease that was renewed since it was read can't be claimed with the end read",
    async run(t) {
      const owner = await t.owner({ seconds: 0.05 })
      const { ends } = await ended(t, owner)
      await t.store.workers.renew(owner, 0.05)
      await until('the renewed lease ends', async () => {
        const lease = await leaseOf(t, owner)
        return lease.ended && lease.ends !== ends
      })
      expect(await t.store.workers.claim(owner, { ends })).toBe(false)
      expect(await t.settleAndFetch(owner, {})).toMatchObject({ fenced: false })
    },
  },
  {
    name: "an unknown owner can't be claimed by an end",
    async run(t) {
      expect(await t.store.workers.claim(t.ownerName(), { ends: 123 })).toBe(false)
    },
  },
  {
    name: 'of two workers that claim the same ended lease one succeeds',
    async run(t) {
      const owner = await t.owner({ seconds: 0.3 })
      const { ends } = await ended(t, owner)
      const answers = await Promise.all([
        t.store.workers.claim(owner, { ends }),
        t.store.workers.claim(owner, { ends }),
      ])
      expect(answers.sort()).toEqual([false, true])
    },
  },
  {
    name: 'calls of a claimed owner are fenced: nothing is settled, counted or fetched',
    async run(t) {
      const record = { kind: 'record', jid: 'a', about: '[]' } as const
      // A store may have shorter ways for jobs that are done.
      const ends: ((fetched: FetchedJob) => Settlement)[] = [
        (fetched) => retry(fetched, 1),
        (fetched) => done(fetched),
        (fetched) => done(fetched, { effects: [record] }),
      ]
      for (const [i, end] of ends.entries()) {
        await t.push('q', t.job(2 * i), t.job(2 * i + 1))
        const owner = await t.owner()
        const fetched = await t.fetch(owner, 'q', 1)
        expect(await t.store.workers.claim(owner)).toBe(true)
        const fetch = { queues: ['q'], n: 1 }
        const settlements = fetched.map(end)
        const answer = await t.settleAndFetch(owner, { settlements, fetch })
        expect(answer).toMatchObject({ fenced: true, settled: ['fenced'], fetched: [] })
        expect(await t.settleAndFetch(owner, { fetch })).toMatchObject({ fenced: true, fetched: [] })
        expect(await t.store.metrics.totals()).toMatchObject({ processed: 0, failed: 0, retries: 0, fetched: 1 })
        await rescueAll(t.store)
        expect(await t.settleAndFetch(owner, { settlements })).toMatchObject({ fenced: true, settled: ['fenced'] })
        expect(await t.waiting('q')).toHaveLength(2 * i + 2)
      }
    },
  },
  {
    name: 'the jobs of a dead owner are found and run again, once',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner({ seconds: 0.5 })
      const [first] = await t.fetch(owner, 'q')
      expect(await t.store.workers.orphaned(10)).toEqual([])
      const { ends } = await ended(t, owner)
      expect(await t.store.workers.orphaned(10)).toEqual([])
      expect(await t.store.workers.claim(owner, { ends })).toBe(true)
      expect(await t.store.metrics.totals()).toMatchObject({ fetched: 1, enqueued: 0 })

      const orphaned = await t.store.workers.orphaned(10)
      expect(orphaned).toEqual([{ owner, queue: 'q', ticket: first.ticket, text: t.job(1) }])
      const items = orphaned.map(({ text, ...job }) => ({ ...job, to: toQueue('q', `${text} `, 'front') }))
      expect(await t.store.workers.rescue(items, NOW)).toEqual(['ok'])
      expect(await t.store.workers.rescue(items, NOW)).toEqual(['gone'])
      expect(await t.store.workers.orphaned(10)).toEqual([])
      expect((await t.settleAndFetch(owner, { settlements: [done(first)] })).settled).toEqual(['fenced'])

      const next = await t.owner()
      expect(textsOf(await t.fetch(next, 'q', 5))).toEqual([`${t.job(1)} `])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 0, fetched: 1 })
    },
  },
  {
    name: 'orphaned jobs come newest first per queue, so that rescuing them one by one keeps their order',
    async run(t) {
      const texts = [1, 2, 3, 4, 5].map((n) => t.job(n))
      const others = ['a', 'b', 'c'].map((n) => t.job(n))
      await t.push('q', ...texts)
      await t.push('p', ...others)
      const owner = await t.owner({ queues: ['q', 'p'] })
      await t.fetch(owner, 'q', 1)
      await t.fetch(owner, ['p', 'q'], 4)
      await t.fetch(owner, 'q', 1)
      await t.store.workers.claim(owner)

      const orphaned = await t.store.workers.orphaned(100)
      expect(textsOf(orphaned.filter(({ queue }) => queue === 'q'))).toEqual([texts[2], texts[1], texts[0]])
      expect(textsOf(orphaned.filter(({ queue }) => queue === 'p'))).toEqual([others[2], others[1], others[0]])
      await rescueAll(t.store)
      expect(await t.waiting('q')).toEqual(texts)
      expect(await t.waiting('p')).toEqual(others)
    },
  },
  {
    name: 'orphaned jobs read in pages keep their order, also beyond nine jobs',
    async run(t) {
      const texts = Array.from({ length: 25 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const owner = await t.owner()
      for (let i = 0; i < 3; i++) await t.fetch(owner, 'q', 7)
      await t.store.workers.claim(owner)
      expect(await t.store.workers.orphaned(4)).toHaveLength(4)
      await rescueAll(t.store, 4)
      expect(await t.waiting('q')).toEqual(texts)
    },
  },
  {
    name: 'jobs of one owner and queue are rescued in one step, so that an idle worker starts with the oldest',
    async run(t) {
      const owner = await fullOwner(t)
      await t.store.workers.claim(owner)
      const orphaned = await t.store.workers.orphaned(RESCUE_JOBS, RESCUE_CHARACTERS)
      expect(orphaned).toHaveLength(MANY)
      const items = orphaned.map(({ text, ...job }) => ({ ...job, to: toQueue('q', text, 'front') }))
      await startsWithOldest(t, longJob(t, 0), () => t.store.workers.rescue(items, NOW))
    },
  },
  {
    name: 'a page of orphaned jobs ends once their texts are long enough',
    async run(t) {
      const owner = await fullOwner(t)
      await t.store.workers.claim(owner)
      const page = (characters: number) => t.store.workers.orphaned(9, characters)
      expect(await page(1)).toHaveLength(1)
      expect(await page(5000)).toHaveLength(1)
      expect(textsOf(await page(12_000))).toEqual([MANY - 1, MANY - 2, MANY - 3].map((n) => longJob(t, n)))
      expect(await page(1_000_000)).toHaveLength(9)
    },
  },
  {
    name: 'rescuing a job of an owner that was not claimed answers gone',
    async run(t) {
      await t.push('q', t.job(1))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const item = { owner, queue: 'q', ticket: first.ticket, to: toQueue('q', t.job(1)) }
      expect(await t.store.workers.rescue([item], NOW)).toEqual(['gone'])
      expect(await t.store.workers.rescue([{ ...item, owner: t.ownerName() }], NOW)).toEqual(['gone'])
      expect(await t.store.metrics.totals()).toMatchObject({ enqueued: 0, fetched: 1 })
      expect((await t.settleAndFetch(owner, { settlements: [done(first)] })).settled).toEqual(['ok'])
    },
  },
  {
    name: 'a job is rescued to any destination, and one that is gone does not affect the others',
    async run(t) {
      await t.push('q', ...[1, 2, 3, 4].map((n) => t.job(n)))
      const owner = await t.owner()
      const [a, b, c, d] = await t.fetch(owner, 'q', 4)
      await t.settleAndFetch(owner, { settlements: [done(b)] })
      await t.store.workers.claim(owner)
      const answers = await t.store.workers.rescue(
        [
          { owner, queue: 'q', ticket: a.ticket, to: { to: 'dead', text: '{"crashes":3}', score: 9 } },
          { owner, queue: 'q', ticket: b.ticket, to: toQueue('q', t.job(2)) },
          { owner, queue: 'q', ticket: c.ticket, to: toQueue('other', '{"crashes":1}') },
          { owner, queue: 'q', ticket: d.ticket, to: { to: 'retry', text: t.job(4), score: 1.5 } },
        ],
        NOW,
      )
      expect(answers).toEqual(['ok', 'gone', 'ok', 'ok'])
      expect(await t.store.jobSets.page('dead', { limit: 9 })).toEqual([{ text: '{"crashes":3}', score: 9 }])
      expect(await t.store.jobSets.page('retry', { limit: 9 })).toEqual([{ text: t.job(4), score: 1.5 }])
      expect(await t.waiting('other')).toEqual(['{"crashes":1}'])
      expect(await t.waiting('q')).toEqual([])
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 1, failed: 0, fetched: 0 })
    },
  },
  {
    name: 'of two workers that rescue the same job one succeeds',
    shared: true,
    async run(t) {
      const texts = Array.from({ length: 12 }, (_, n) => t.job(n))
      await t.push('q', ...texts)
      const owner = await t.owner()
      await t.fetch(owner, 'q', 12)
      const other = await t.another()
      await other.workers.claim(owner)
      const orphaned = await t.store.workers.orphaned(99)
      const answers = await Promise.all(
        [t.store, other].map(async (store) => {
          const mine = []
          for (const { text, ...job } of orphaned) {
            mine.push(...(await store.workers.rescue([{ ...job, to: toQueue('q', text, 'front') }], NOW)))
          }
          return mine
        }),
      )
      orphaned.forEach((_, i) => {
        expect([answers[0]?.[i], answers[1]?.[i]].sort()).toEqual(['gone', 'ok'])
      })
      expect((await t.waiting('q')).sort()).toEqual([...texts].sort())
    },
  },
  {
    name: 'a claim by another connection fences this one',
    shared: true,
    async run(t) {
      await t.push('q', t.job(1), t.job(2))
      const owner = await t.owner()
      const [first] = await t.fetch(owner, 'q')
      const other = await t.another()
      expect(await other.workers.claim(owner)).toBe(true)
      const answer = await t.store.workers.settleAndFetch(
        owner,
        requestOf({ settlements: [done(first)], fetch: { queues: ['q'], n: 1 } }),
      )
      expect(answer).toMatchObject({ fenced: true, settled: ['fenced'], fetched: [] })
      expect(await t.store.workers.renew(owner, 60)).toBe(false)
      await rescueAll(other)
      expect(await t.waiting('q')).toEqual([t.job(1), t.job(2)])
    },
  },
  {
    name: 'the renewer, if the store has one, can be posted to a thread, renews, and reports a lost lease',
    async run(t) {
      await t.store.open()
      const renewer = t.store.workers.renewer()
      if (!renewer) return
      const { module, options } = structuredClone(renewer) as Renewer
      const { openRenewer } = (await import(module)) as {
        openRenewer(options: object): OpenRenewer | Promise<OpenRenewer>
      }
      const open = await openRenewer(options)
      try {
        const owner = await t.owner({ seconds: 0.05 })
        await ended(t, owner)
        expect(await open.renew(owner, 60, () => true)).toBe(true)
        expect(await leaseOf(t, owner)).toMatchObject({ ended: false })
        await t.store.workers.claim(owner)
        expect(await open.renew(owner, 60, () => true)).toBe(false)
        expect(await open.renew(t.ownerName(), 60, () => true)).toBe(false)
      } finally {
        await open.close()
      }
    },
  },
  {
    name: 'a call at the time of a claim is either complete before it or fenced',
    shared: true,
    async run(t) {
      const other = await t.another()
      await other.open()
      for (let round = 0; round < 10; round++) {
        const queue = `q${round}`
        const texts = [t.job(`${round}a`), t.job(`${round}b`)]
        await t.push(queue, ...texts)
        const owner = await t.owner({ queues: [queue] })
        const [first] = await t.fetch(owner, queue)
        const [answer] = await Promise.all([
          t.settleAndFetch(owner, { now: NOW, settlements: [done(first)], fetch: { queues: [queue], n: 1 } }),
          other.workers.claim(owner),
        ])
        expect(answer.settled).toEqual([answer.fenced ? 'fenced' : 'ok'])
        expect(answer.fetched).toHaveLength(answer.fenced ? 0 : 1)
        await rescueAll(other)
        expect(await t.waiting(queue)).toEqual(answer.fenced ? texts : texts.slice(1))
      }
    },
  },
]

interface OpenRenewer {
  renew(owner: string, seconds: number, isWanted: () => boolean): boolean | Promise<boolean>
  close(): void | Promise<void>
}

/** Moves every orphaned job to the front of its queue, as a worker does. */
export async function rescueAll(store: Store, page = 100): Promise<void> {
  for (;;) {
    const orphaned = await store.workers.orphaned(page)
    if (orphaned.length === 0) return
    await store.workers.rescue(
      orphaned.map(({ text, ...job }) => ({ ...job, to: toQueue(job.queue, text, 'front') })),
      NOW,
    )
  }
}

/** Returns an owner that has fetched MANY long jobs. */
async function fullOwner(t: Bench): Promise<string> {
  await t.push('q', ...Array.from({ length: MANY }, (_, n) => longJob(t, n)))
  const owner = await t.owner()
  for (let n = MANY; n > 0; ) n -= (await t.fetch(owner, 'q', n)).length
  return owner
}

async function leaseOf(t: Bench, owner: string): Promise<Lease> {
  const lease = (await t.store.workers.leases()).find((one) => one.owner === owner)
  if (!lease) throw new Error(`no lease of ${owner}`)
  return lease
}

function ended(t: Bench, owner: string): Promise<Lease> {
  return until(`the lease of ${owner} ends`, async () => {
    const lease = await leaseOf(t, owner)
    return lease.ended && lease
  })
}
