import { expect } from 'vitest'
import type { FetchedJob, Settlement } from '#dist/store/contract.js'
import { type Case, done, NOW, release, toQueue } from '../bench.ts'

const SCORE = NOW / 1000

/** Jobs that are done and go to the set of finished jobs. */
export const finishedJobs: Case[] = [
  {
    name: 'the step that settles a job puts it into the set of finished jobs',
    async run(t) {
      await t.push('q', t.job(1), t.job(2), t.job('ü'))
      const owner = await t.owner()
      const fetched = await t.fetch(owner, 'q', 3)
      const { settled } = await t.settleAndFetch(owner, { settlements: [kept(fetched[0]), done(fetched[1])] })
      expect(settled).toEqual(['ok', 'ok'])
      expect(await t.store.jobSets.page('finished', { limit: 9 })).toEqual([{ text: t.job(1), score: SCORE }])
      const text = `${t.job('ü').slice(0, -1)},"hk_result":"🦙"}`
      await t.settleAndFetch(owner, { settlements: [kept(fetched[2], text)] })
      expect(await t.store.jobSets.size('finished')).toBe(2)
      expect(await t.store.search.scanSet('finished', '🦙', { limit: 9 })).toMatchObject({
        items: [{ text, score: SCORE }],
      })
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 3, fetched: 0, enqueued: 0, failed: 0 })
      expect(await t.store.workers.release(owner)).toBe(true)
    },
  },
  {
    name: 'a finished job is kept with the members of its settlement behind its own, also beside jobs that are not kept',
    async run(t) {
      const texts = [t.job(1), t.job(2), t.job('ü🦙'), t.job(4), t.job(5), t.job(6)]
      await t.push('q', ...texts)
      const owner = await t.owner()
      const jobs = await t.fetch(owner, 'q', 6)
      const [started, other] = [',"hk_started":1', ',"hk_started":2,"hk_result":"ü🦙"']
      const first = [keptWith(jobs[0], started), keptWith(jobs[1], started), done(jobs[3]), keptWith(jobs[2], other)]
      expect((await t.settleAndFetch(owner, { settlements: first })).settled).toEqual(first.map(() => 'ok'))
      const effects = [{ kind: 'release-unique', key: 'k', holder: 'h' } as const]
      const second = [{ ...keptWith(jobs[4], started, SCORE + 2), effects }, kept(jobs[5], texts[5], SCORE + 1)]
      expect((await t.settleAndFetch(owner, { settlements: second })).settled).toEqual(['ok', 'ok'])
      expect(await t.store.jobSets.size('finished')).toBe(5)
      const [one, two, three, , five, six] = texts as [string, string, string, string, string, string]
      const withMembers = (text: string, members: string) => `${text.slice(0, -1)}${members}}`
      const expected = [
        { text: withMembers(one, started), score: SCORE },
        { text: withMembers(two, started), score: SCORE },
        { text: withMembers(three, other), score: SCORE },
        { text: six, score: SCORE + 1 },
        { text: withMembers(five, started), score: SCORE + 2 },
      ]
      const byText = (a: { text: string }, b: { text: string }) => (a.text < b.text ? -1 : 1)
      const page = await t.store.jobSets.page('finished', { limit: 9 })
      expect([...page].sort(byText)).toEqual(expected.sort(byText))
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 6, fetched: 0, enqueued: 0 })
    },
  },
  {
    name: 'of the jobs of one step that get different members the oldest are removed',
    async run(t) {
      await t.push('q', ...Array.from({ length: 9 }, (_, n) => t.job(n)))
      const owner = await t.owner()
      const jobs: FetchedJob[] = await t.fetch(owner, 'q', 9)
      const settlements = jobs.map((job, n) => keptWith(job, `,"hk_result":${n}`, SCORE + n))
      await t.settleAndFetch(owner, { settlements: settlements.slice(0, 5) })
      await t.settleAndFetch(owner, { settlements: settlements.slice(5) })
      const left = async () => {
        const page = await t.store.jobSets.page('finished', { limit: 9 })
        return page.map(({ text, score }) => [JSON.parse(text).hk_result, score - SCORE])
      }
      await t.store.jobSets.prune('finished', 6, 0)
      expect(await t.store.jobSets.size('finished')).toBe(6)
      expect(await left()).toEqual([3, 4, 5, 6, 7, 8].map((n) => [n, n]))
      await t.store.jobSets.prune('finished', 99, SCORE + 7)
      expect(await left()).toEqual([7, 8].map((n) => [n, n]))
    },
  },
  {
    name: 'a finished job is kept beside others of the step that have effects, or go elsewhere',
    async run(t) {
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const owner = await t.owner()
      const [one, two, three] = await t.fetch(owner, 'q', 3)
      const effects = [{ kind: 'release-unique', key: 'k', holder: 'h' } as const]
      const settlements = [kept(one), { ...kept(two), effects }, release(three)]
      expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(['ok', 'ok', 'ok'])
      expect(await t.store.jobSets.size('finished')).toBe(2)
      expect(await t.waiting('q')).toEqual([t.job(3)])
    },
  },
  {
    name: 'a step keeps finished jobs and records their events, beside jobs that are not kept',
    async run(t) {
      const { newest: from } = await t.store.events.record(null, NOW)
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const owner = await t.owner()
      const [one, two, three] = await t.fetch(owner, 'q', 3)
      const record = (n: number) => ({ effects: [{ kind: 'record', jid: String(n), about: '[]' } as const] })
      const settlements = [{ ...kept(one), ...record(1) }, done(two, record(2)), keptWith(three, ',"hk_started":1')]
      expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(['ok', 'ok', 'ok'])
      expect(await t.store.jobSets.size('finished')).toBe(2)
      const signal = new AbortController().signal
      const events = await t.store.events.read(from, { limit: 9, ms: 0, signal }, () => NOW)
      expect(events?.map(({ event }) => event).sort()).toEqual([['1'], ['2']])
    },
  },
  {
    name: 'a settlement that comes again, or after the owner was claimed, keeps nothing',
    async run(t) {
      await t.push('q', t.job(1), t.job(2), t.job(3), t.job(4))
      const owner = await t.owner()
      const [one, two, three, four] = await t.fetch(owner, 'q', 4)
      const settle = async (...settlements: Settlement[]) => (await t.settleAndFetch(owner, { settlements })).settled
      const members = ',"hk_started":1'
      expect(await settle(kept(one), kept(one))).toEqual(['ok', 'fenced'])
      expect(await settle(keptWith(three, members), keptWith(three, members))).toEqual(['ok', 'fenced'])
      expect(await settle(kept(one), keptWith(three, members))).toEqual(['fenced', 'fenced'])
      expect(await settle(keptWith(three, members), keptWith(four, members))).toEqual(['fenced', 'ok'])
      await t.store.workers.claim(owner)
      expect(await settle(kept(two), keptWith(two, members))).toEqual(['fenced', 'fenced'])
      const page = await t.store.jobSets.page('finished', { limit: 9 })
      const withMembers = (n: number) => `${t.job(n).slice(0, -1)}${members}}`
      expect(page.map(({ text }) => text).sort()).toEqual([t.job(1), withMembers(3), withMembers(4)].sort())
      expect(await t.store.metrics.totals()).toMatchObject({ processed: 3 })
    },
  },
  {
    name: 'a job that arrived during a wait is kept, too',
    async run(t) {
      const owner = await t.owner()
      const signal = new AbortController().signal
      const waiting = t.store.workers.waitForJobs(owner, ['q'], 1, 5000, signal)
      await t.push('q', t.job(1))
      const arrived = (await waiting)[0] ?? (await t.fetch(owner, 'q', 1))[0]
      await t.settleAndFetch(owner, { settlements: [kept(arrived)] })
      expect(await t.store.jobSets.size('finished')).toBe(1)
    },
  },
  {
    name: 'hundreds of finished jobs of one step are kept, each once',
    async run(t) {
      const texts = Array.from({ length: 450 }, (_, n) => t.job(n, { note: 'é'.repeat(n % 7) }))
      await t.push('q', ...texts)
      const owner = await t.owner()
      const fetched = await t.fetch(owner, 'q', 450)
      const { settled } = await t.settleAndFetch(owner, { settlements: fetched.map((job) => kept(job)) })
      expect(new Set(settled)).toEqual(new Set(['ok']))
      const entries = await t.store.jobSets.page('finished', { limit: 999 })
      expect(entries.map(({ text }) => text).sort()).toEqual([...texts].sort())
      expect(await t.store.jobSets.size('finished')).toBe(450)
    },
  },
  {
    name: 'of the finished jobs of several steps the oldest are removed, whether they were read before or not',
    async run(t) {
      const owner = await t.owner()
      let next = 0
      const finish = async (n: number) => {
        await t.push('q', ...Array.from({ length: n }, (_, i) => t.job(next + i)))
        const jobs = await t.fetch(owner, 'q', n)
        await t.settleAndFetch(owner, { settlements: jobs.map((job) => kept(job, job.text, SCORE + next++)) })
      }
      const scores = async () =>
        (await t.store.jobSets.page('finished', { limit: 99 })).map(({ score }) => score - SCORE)
      const from = (first: number) => Array.from({ length: next - first }, (_, i) => first + i)
      const prune = (max: number, since = 0) => t.store.jobSets.prune('finished', max, SCORE + since)
      for (const n of [3, 1, 4]) await finish(n)
      await prune(9)
      expect(await t.store.jobSets.size('finished')).toBe(8)
      await prune(6)
      expect(await t.store.jobSets.size('finished')).toBe(6)
      for (const n of [2, 2]) await finish(n)
      expect(await t.store.jobSets.size('finished')).toBe(10)
      expect(await scores()).toEqual(from(2))
      for (const n of [3, 3]) await finish(n)
      await prune(11)
      expect(await scores()).toEqual(from(7))
      for (const n of [3, 3]) await finish(n)
      await prune(99, 17)
      expect(await t.store.jobSets.size('finished')).toBe(next - 17)
      await finish(3)
      await prune(2)
      expect(await scores()).toEqual(from(next - 2))
      await finish(3)
      await prune(99, next)
      expect(await scores()).toEqual([])
      expect(await t.store.jobSets.size('finished')).toBe(0)
    },
  },
  {
    name: 'finished jobs that nobody has read can be removed, moved and cleared',
    async run(t) {
      const owner = await t.owner()
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const jobs = await t.fetch(owner, 'q', 3)
      await t.settleAndFetch(owner, { settlements: jobs.map((job) => kept(job)) })
      const swap = { text: t.job(2), score: SCORE, to: toQueue('again', t.job(2)) }
      expect(await t.store.jobSets.swap('finished', [swap, swap], NOW)).toEqual(['ok', 'gone'])
      expect(await t.waiting('again')).toEqual([t.job(2)])
      expect(await t.store.jobSets.size('finished')).toBe(2)
      await t.push('q', t.job(4))
      const [fourth] = await t.fetch(owner, 'q', 1)
      await t.settleAndFetch(owner, { settlements: [kept(fourth as FetchedJob)] })
      expect(await t.store.search.clearSet('finished', [])).toMatchObject({ removed: 3, done: true })
      expect(await t.store.jobSets.page('finished', { limit: 9 })).toEqual([])
      expect(await t.store.jobSets.size('finished')).toBe(0)
    },
  },
  {
    name: 'findFinished finds the finished job of a jid, the last of several, and no job that has the jid among its arguments',
    async run(t) {
      const job = (jid: string, args: unknown[] = [], rest = {}) => JSON.stringify({ class: 'J', args, jid, ...rest })
      const odd = ['ü "1"\\n', '🦙'.repeat(120), `${'🦙'.repeat(119)}x`, '', '%_*?[a-z]', '"jid"']
      const texts = [
        ...odd.map((jid) => job(jid)),
        job('behind', [{ jid: 'argument' }]),
        job('before', [], { extra: { jid: 'member' } }),
        '{ "jid" :\t"spaced", "class": "J", "args": ["jid"] }',
        '{"class":"J","args":[],"jid":7}',
        'no "jid": "job"',
        job('twice', [1]),
        job('twice', [3]),
        job('twice', [2]),
      ]
      const scores = texts.map((_, n) => SCORE + n)
      scores.splice(-3, 3, SCORE + 1, SCORE + 99, SCORE + 50)
      const owner = await t.owner()
      await t.push('q', ...texts.map((_, n) => t.job(n)))
      const jobs = await t.fetch(owner, 'q', texts.length)
      const settlements = jobs.map((one, n) => kept(one, texts[n], scores[n]))
      await t.settleAndFetch(owner, { settlements: settlements.slice(0, 8) })
      const find = (jid: string) => t.store.jobSets.findFinished(jid)
      const entry = (n: number) => ({ text: texts[n] as string, score: scores[n] as number })
      expect(await find('behind')).toEqual(entry(6))
      await t.settleAndFetch(owner, { settlements: settlements.slice(8) })
      for (const [n, jid] of [...odd, 'behind', 'before', 'spaced'].entries()) expect(await find(jid)).toEqual(entry(n))
      expect(await find('twice')).toEqual(entry(texts.length - 2))
      for (const jid of ['argument', 'member', '7', 'job', 'J', 'behin', 'behind"', 'none']) {
        expect(await find(jid)).toBe(null)
      }
      expect(await t.store.jobSets.swap('finished', [{ ...entry(6), to: null }], NOW)).toEqual(['ok'])
      expect(await find('behind')).toBe(null)
      expect(await t.store.jobSets.size('finished')).toBe(texts.length - 1)
    },
  },
  {
    name: 'findFinished finds the oldest, the newest and any other of thousands of finished jobs, many of which ended at once',
    async run(t) {
      const entries = Array.from({ length: 12_000 }, (_, n) => ({
        text: JSON.stringify({ class: 'J', args: [], jid: `jid-${n}` }),
        score: SCORE + (n < 100 || n > 11_900 ? n : 6000),
      }))
      for (let from = 0; from < entries.length; from += 1000) {
        const some = entries.slice(from, from + 1000).map((entry) => ({ to: 'finished', ...entry }) as const)
        await t.store.jobs.push(some, NOW)
      }
      for (const n of [0, 50, 100, 4999, 5000, 5001, 9999, 10_000, 11_900, 11_999]) {
        expect(await t.store.jobSets.findFinished(`jid-${n}`)).toEqual(entries[n])
      }
      expect(await t.store.jobSets.findFinished('jid-12000')).toBe(null)
    },
  },
  {
    name: 'finished jobs with effects, and those of another store, are removed in the order of their ends',
    async run(t) {
      const owner = await t.owner()
      const effects = [{ kind: 'release-unique', key: 'k', holder: 'h' } as const]
      const moved = { to: 'finished', text: t.job('moved'), score: SCORE - 9 } as const
      const scores = async () => (await t.store.jobSets.page('finished', { limit: 9 })).map((one) => one.score - SCORE)
      await t.push('q', ...[0, 1, 2, 3].map((n) => t.job(n)))
      const jobs = await t.fetch(owner, 'q', 4)
      for (const [n, job] of jobs.entries()) {
        const settlement = kept(job, job.text, SCORE + n)
        await t.settleAndFetch(owner, { settlements: [n % 2 === 0 ? settlement : { ...settlement, effects }] })
      }
      expect(await t.store.transfers.put({ transfer: 'T', number: 1 }, [moved], NOW)).toBe('stored')
      expect(await t.store.jobSets.size('finished')).toBe(5)
      await t.store.jobSets.prune('finished', 3, 0)
      expect(await scores()).toEqual([1, 2, 3])
    },
  },
  {
    name: 'while one process settles jobs and two others read and remove finished ones, none is lost or doubled',
    shared: true,
    async run(t) {
      const owner = await t.owner()
      const [reader, remover] = [await t.another(), await t.another()]
      const total = 400
      const left = 150
      await t.push('q', ...Array.from({ length: total }, (_, n) => t.job(n)))
      let settled = 0
      const whileSettling = async (work: () => Promise<unknown>) => {
        while (settled < total) await work()
      }
      const settle = async () => {
        const jobs = await t.fetch(owner, 'q', 1 + t.dice(20))
        await t.settleAndFetch(owner, { settlements: jobs.map((job) => kept(job, job.text, SCORE + settled++)) })
      }
      await Promise.all([
        whileSettling(settle),
        whileSettling(async () => {
          const page = await reader.jobSets.page('finished', { limit: total, desc: true })
          const numbers = page.map(({ score }) => score - SCORE)
          const [newest = -1] = numbers
          expect(numbers).toEqual(numbers.map((_, i) => newest - i))
        }),
        whileSettling(() => remover.jobSets.prune('finished', left, SCORE + settled - left)),
      ])
      await t.store.jobSets.prune('finished', left, 0)
      expect(await t.store.jobSets.size('finished')).toBe(left)
      const page = await t.store.jobSets.page('finished', { limit: total })
      expect(page).toEqual(
        Array.from({ length: left }, (_, i) => ({ text: t.job(total - left + i), score: SCORE + total - left + i })),
      )
    },
  },
]

function kept(job: FetchedJob, text = job.text, score = SCORE): Settlement {
  return done(job, { move: { to: 'finished', text, score } })
}

function keptWith(job: FetchedJob, members: string, score = SCORE): Settlement {
  return done(job, { move: { to: 'finished', text: job.text, members, score } })
}
