import { BusinessFailure } from 'highkiq'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Bench, bench, Collector } from '../engine/bench.ts'
import { suiteWith } from '../programs/suite.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { pgbouncer, postgres } from './program.ts'
import { startPostgres } from './server.ts'

const ROWS = 300
const JOBS = 100

/** In session mode each client keeps its connection; in transaction mode a few serve them all. */
const MODES = [
  { mode: 'session', connections: 40, query: '' },
  { mode: 'transaction', connections: 4, query: '?pooling=transaction' },
] as const

async function newServer() {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  return server
}

suiteWith([postgres, pgbouncer], 'behind PgBouncer', () => {
  describe.for(MODES)('in $mode mode', ({ mode, connections, query }) => {
    const start = async () => bench({ url: `${await startPgBouncer(await newServer(), mode, connections)}${query}` })

    test('two workers run jobs of all kinds once, and the counts are exact', async () => {
      const t = await start()
      const ran = new Collector<string>()
      const define = ({ hq }: Bench) => {
        hq.job('Plain', (_ctx, n: number) => ran.add(`plain ${n}`))
        hq.job('Again', { retryIn: () => 0.1 }, (ctx) => {
          if (ctx.attempt === 1) throw new Error('once')
          ran.add('again')
        })
        hq.ordered('Sync', async (_ctx, batch) => {
          for (const [id, payloads] of batch) ran.add(`ordered ${id} ${payloads}`)
        })
        return hq.job('Row', (_ctx, n: number) => {
          if (n % 10 === 0) throw new BusinessFailure('not this one')
        })
      }
      const Row = define(t)
      const other = t.another()
      define(other)
      for (const one of [t, other]) await one.work({ concurrency: 5, leaseSeconds: 1 })
      await t.hq.ordered('Sync').performAsync([{ id: 1, payload: 'a' }])
      await t.hq.pushBulk({ class: 'Plain', args: Array.from({ length: JOBS / 2 }, (_, n) => [n]) })
      await Promise.all(Array.from({ length: JOBS / 2 }, (_, n) => t.hq.push({ class: 'Plain', args: [JOBS / 2 + n] })))
      await t.hq.push({ class: 'Again', args: [] })
      const task = await t.hq.tasks.create(
        Row,
        Array.from({ length: ROWS }, (_, n) => [n]),
      )
      const { counts, state } = await task.wait({ every: 20 })
      expect({ counts, state }).toMatchObject({ counts: { finished: ROWS * 0.9, failed: ROWS * 0.1 }, state: 'done' })
      const all = (await ran.atLeast(JOBS + 2)).toSorted()
      await t.settled()
      expect(all).toEqual(['again', 'ordered 1 a', ...Array.from({ length: JOBS }, (_, n) => `plain ${n}`)].toSorted())
      expect(t.errors.filter(({ error }) => error.message !== 'once')).toEqual([])
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: JOBS + 2 + ROWS, dead: 0, retries: 0 })
    })
  })

  test('in transaction mode another isolation level than READ COMMITTED is refused, with the statement that mends it', async () => {
    const server = await newServer()
    await server.query("ALTER ROLE highkiq SET default_transaction_isolation = 'repeatable read'")
    const url = `${await startPgBouncer(server, 'transaction', 4)}?pooling=transaction`
    await expect(bench({ url }).hq.stats()).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining(`ALTER ROLE highkiq SET default_transaction_isolation = 'read committed'`),
    })
    // Without a pool between them a connection has the level that Highkiq sets.
    await bench({ url: server.url() }).hq.stats()
  })
})
