import pg from 'pg'
import { expect, test } from 'vitest'
import type { PushItem } from '#dist/store/contract.js'
import { NOW, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { onPostgres } from './suite.ts'

onPostgres('pushes that wait for an earlier one', () => {
  test('share a commit, and are stored in the order of the calls, beside those of other kinds', () =>
    withBench(postgres, async (t) => {
      const push = (queue: string, n: number, more = {}) =>
        t.store.jobs.push([{ ...toQueue(queue, t.job(n)), ...more }], NOW)
      const before = await commits(t.url)
      const pushed = Array.from({ length: 100 }, (_, n) => push('q', n))
      pushed.push(push('r', 100), push('q', 101, { maxLength: 1000 }), push('q', 102), push('q', 103))
      await Promise.all(pushed)
      const numbers = [...Array(100).keys(), 101, 102, 103]
      expect(await t.store.jobs.peek('q', 0, 200)).toEqual(numbers.map((n) => t.job(n)))
      expect((await commits(t.url)) - before).toBeLessThan(30)
    }))

  test('are refused each by itself: a job that the server does not accept is no fault of the others', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(0))], NOW)
      await run(t.url, refuse(t.job(2)))
      const pushed = [1, 2, 3].map((n) => t.store.jobs.push([toQueue('q', t.job(n))], NOW))
      const outcomes = await Promise.allSettled(pushed)
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await t.store.jobs.peek('q', 0, 10)).toEqual([0, 1, 3].map((n) => t.job(n)))
    }))

  test('keep their order also when one of them is refused, so that each gets a statement of its own', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(0))], NOW)
      await run(t.url, refuseAndDelay(t.job(2), t.job(1)))
      const numbers = [1, 2, 3, 4, 5, 6, 7, 8]
      const pushed = numbers.map((n) => t.store.jobs.push([toQueue('q', t.job(n))], NOW))
      const last = (await Promise.allSettled(pushed)).length + 1
      await t.store.jobs.push([toQueue('q', t.job(last))], NOW)
      expect(await t.store.jobs.peek('q', 0, 20)).toEqual([0, 1, 3, 4, 5, 6, 7, 8, 9].map((n) => t.job(n)))
    }))

  test('to several queues say which jobs are stored when the server does not accept one of them', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(0))], NOW)
      await run(t.url, refuse(t.job(2)))
      const items = ['q', 'r', 's'].map((queue, i) => toQueue(queue, t.job(i + 1)))
      const thrown = await t.store.jobs.push(items, NOW).catch((error) => error)
      expect(thrown).toMatchObject({ code: 'PUSH_FAILED', cause: { code: 'STORE_UNUSABLE', cause: { code: '23514' } } })
      expect(thrown.parts).toMatchObject({ stored: new Set(items.slice(0, 1)), notStored: new Set(items.slice(1)) })
      expect(await t.store.jobs.peek('q', 0, 10)).toEqual([0, 1].map((n) => t.job(n)))
      expect(await t.store.jobs.queues(['s'])).toMatchObject([{ size: 0 }])
    }))

  test('are stored without a notification when the server has no room for one', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(0))], NOW)
      await run(t.url, REFUSE_NOTIFY)
      const refused = () => run(t.url, 'SELECT last_value, is_called FROM highkiq.refused')
      for (let n = 1; (await refused()).rows[0].is_called === false; n++) {
        await t.store.jobs.push([toQueue('q', t.job(n))], NOW)
        expect((await t.store.jobs.peek('q', n, 1))[0]).toBe(t.job(n))
      }
    }))
})

onPostgres('a push beside many expired rows', () => {
  test('deletes at most 1,000 of them, and those that stay keep nothing from being stored', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(0))], NOW)
      await run(
        t.url,
        `INSERT INTO highkiq.unique_lock (key, holder, ends) SELECT 'old ' || n, 'j', n FROM generate_series(1, 3000) AS n;
        INSERT INTO highkiq.pushed_once SELECT 'old ' || n, n FROM generate_series(1, 3000) AS n;
        INSERT INTO highkiq.memory SELECT 'old ' || n, 'v', n FROM generate_series(1, 3000) AS n`,
      )
      const rows = async (table: string) =>
        Number((await run(t.url, `SELECT count(*) FROM highkiq.${table}`)).rows[0].count)
      const push = (more: Partial<PushItem>) =>
        t.store.jobs.push([{ ...toQueue('q', t.job(1)), ...more } as PushItem], NOW)
      const lock = (key: string) => push({ unique: { jid: '1'.repeat(24), claims: [{ key }] } })
      expect(await lock('new')).toEqual([])
      expect(await rows('unique_lock')).toBe(2001)
      expect(await lock('old 3000')).toEqual([])
      expect(await lock('old 3000')).toHaveLength(1)
      await push({ once: 'new' })
      expect(await rows('pushed_once')).toBe(2001)
      const { size = 0 } = (await t.store.jobs.queues(['q']))[0] ?? {}
      for (let i = 0; i < 2; i++) await push({ once: 'old 3000' })
      expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: size + 1 }])
      await t.store.results.remember('key', 'v', 60)
      expect(await rows('memory')).toBe(2001)
    }))
})

/** The server refuses one job, alone or in a pack. */
const refuse = (text: string) => `
  ALTER TABLE highkiq.ready ADD CHECK (text <> '${text}');
  ALTER TABLE highkiq.pack ADD CHECK (strpos(text, '${text}') = 0);`

/** The server refuses one job, and takes its time with another. */
const refuseAndDelay = (refused: string, late: string) => `
  ${refuse(refused)}
  CREATE FUNCTION highkiq.delay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$;
  CREATE TRIGGER delay BEFORE INSERT ON highkiq.ready FOR EACH ROW WHEN (NEW.text = '${late}') EXECUTE FUNCTION highkiq.delay()`

/** Pushes that send a notification fail as if the queue of notifications were full. A sequence remembers that one did. */
const REFUSE_NOTIFY = `
  CREATE SEQUENCE highkiq.refused;
  CREATE FUNCTION highkiq.refuse_notify() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF current_query() LIKE '%pg_notify%' THEN
      PERFORM nextval('highkiq.refused');
      RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000';
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER refuse_notify BEFORE INSERT ON highkiq.ready FOR EACH ROW EXECUTE FUNCTION highkiq.refuse_notify()`

async function run(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

/** Returns the number of transactions of the database so far. */
async function commits(url: string): Promise<number> {
  const { rows } = await run(url, 'SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()')
  return Number(rows[0].xact_commit)
}
