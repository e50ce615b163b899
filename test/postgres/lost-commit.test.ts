import pg from 'pg'
import { expect, test } from 'vitest'
import type { Limit } from '#dist/store/contract.js'
import { type Bench, NOW, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { onPostgres } from './suite.ts'

/** Ends the connection at the next COMMIT of a transaction that has changed this table; later ones succeed. */
async function loseCommit(t: Bench, table: string): Promise<void> {
  const client = new pg.Client(t.url)
  await client.connect()
  try {
    // A rollback does not set a sequence back.
    await client.query(`
      CREATE SEQUENCE highkiq.lost;
      CREATE FUNCTION highkiq.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('highkiq.lost') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER lose AFTER INSERT OR UPDATE ON highkiq.${table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION highkiq.lose()`)
  } finally {
    await client.end()
  }
}

onPostgres('a connection that is lost at the COMMIT', () => {
  test('a tick is reported as maybe pushed, and may be decided again', () =>
    withBench(postgres, async (t) => {
      await t.store.crons.define('a', { old: null, text: '{}', tick: 1 }, 60)
      await loseCommit(t, 'cron')
      const jid = '1'.padStart(24, '0')
      const tick = { text: '{}', from: 1, to: 2, push: { jid, item: toQueue('q', t.job(1)) } }
      await expect(t.store.crons.tick('a', tick, NOW)).rejects.toMatchObject({ jids: [jid], maybePushed: true })
      expect(await t.store.crons.tick('a', tick, NOW)).toBe('ok')
      expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: 1 }])
    }))

  test('a batch is reported as maybe pushed, and is there at most once', () =>
    withBench(postgres, async (t) => {
      await t.store.open()
      await loseCommit(t, 'batch')
      const never = { onComplete: null, onSuccess: null, onDeath: null, job: null }
      const batch = { bid: 'b'.repeat(16), parent: null, meta: '{}', keep: 1, createdAt: NOW, ...never }
      const members = [{ bid: batch.bid, id: '1'.padStart(24, '0'), item: toQueue('q', t.job(1)) }]
      const push = () => t.store.batches.push({ batches: [batch], members }, NOW)
      await expect(push()).rejects.toMatchObject({ maybePushed: true })
      expect(await push()).toEqual([])
      expect(await push()).toBe('exists')
      expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: 1 }])
    }))

  test('an attempt asks for its slots again', () =>
    withBench(postgres, async (t) => {
      const owner = await t.owner()
      await loseCommit(t, 'job_slot')
      const limit: Limit = { name: 'job:J', max: 1, count: 0, per: 0, burst: 1, window: 'smooth' }
      const requests = ['1', '2'].map((ticket) => ({ ticket, limits: [limit] }))
      const answers = await t.store.limits.acquire(owner, requests)
      expect(answers.map(({ over }) => over)).toEqual([null, 0])
    }))
})
