import { expect, test } from 'vitest'
import type { FetchedJob } from '#dist/store/contract.js'
import { writerLockOf } from '#dist/store/postgres/server/lock.js'
import { done, NOW, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { onPostgres } from './suite.ts'

const MEMBERS = ',"hk_started":1'
const SCORE = NOW / 1000

onPostgres('finished jobs that are kept in PostgreSQL', () => {
  const kept = (job: FetchedJob) =>
    done(job, { move: { to: 'finished', text: job.text, members: MEMBERS, score: SCORE } })
  const withMembers = ({ text }: FetchedJob) => `${text.slice(0, -1)}${MEMBERS}}`

  test('steps of several workers keep jobs at the same time', () =>
    withBench(postgres, async (t) => {
      await t.push('q', t.job(1), t.job(2), t.job(3))
      const owner = await t.owner()
      const [one, two] = await t.fetch(owner, 'q', 2)
      const client = await t.connect()
      // As a step of another worker that has not been committed yet.
      await client.query('BEGIN')
      await client.query('SELECT pg_advisory_xact_lock_shared($1)', [String(writerLockOf('highkiq'))])
      await client.query(
        `INSERT INTO highkiq.finished_pack (size, oldest, newest, scores, texts) VALUES (0, 0, 0, '{}', '{}')`,
      )
      const settlements = [kept(one), kept(two)]
      const answer = await t.settleAndFetch(owner, { settlements, fetch: { queues: ['q'], n: 1 } })
      expect(answer.settled).toEqual(['ok', 'ok'])
      expect(answer.fetched.map(({ text }) => text)).toEqual([t.job(3)])
      await client.query('ROLLBACK')
      const page = await t.store.jobSets.page('finished', { limit: 9 })
      expect(page.map(({ text }) => text).sort()).toEqual([one, two].map(withMembers).sort())
    }))

  test('jobs whose texts are too long for one row are kept in several', () =>
    withBench(postgres, async (t) => {
      const texts = [1, 2, 3].map((n) => t.job(n, { padding: String(n).repeat(3_000_000) }))
      await t.push('q', ...texts)
      const owner = await t.owner()
      const jobs: FetchedJob[] = await t.fetch(owner, 'q', 3)
      const { settled } = await t.settleAndFetch(owner, { settlements: jobs.map((job) => kept(job)) })
      expect(settled).toEqual(['ok', 'ok', 'ok'])
      const client = await t.connect()
      const packs = await client.query('SELECT size FROM highkiq.finished_pack ORDER BY id')
      expect(packs.rows.map(({ size }) => Number(size))).toEqual([2, 1])
      const page = await t.store.jobSets.page('finished', { limit: 9 })
      expect(page.map(({ text }) => text).sort()).toEqual(jobs.map(withMembers).sort())
    }))
})
