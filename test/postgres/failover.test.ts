import { setTimeout as sleep } from 'node:timers/promises'
import { PushError } from 'highkiq'
import { expect, onTestFinished, test } from 'vitest'
import { bench, Collector, gate, until } from '../engine/bench.ts'
import { Address } from './address.ts'
import { type PostgresServer, startPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

const LIMIT = { timeout: 300_000 }
const PUSHES = 100
/** The connections of a process, unless the URL has another number. */
const CONNECTIONS = 5

/** A bench on a primary with a standby. Apps reach the primary at `front`; the standby reaches it at another address. */
async function pair({ isSynchronous }: { isSynchronous: boolean }) {
  // With '*' a commit waits for the standby from the beginning.
  const primary = await startPostgres(isSynchronous ? { synchronous_standby_names: '*' } : {})
  onTestFinished(() => primary.remove())
  const front = await Address.open(primary.port)
  const back = await Address.open(primary.port)
  for (const address of [front, back]) onTestFinished(() => address.close())
  const standby = await startPostgres({}, back.port)
  onTestFinished(() => standby.remove())
  const url = new URL(primary.url())
  url.port = String(front.port)
  /** The primary dies, the standby is promoted, and the address leads to it. */
  const failOver = async () => {
    await primary.kill()
    front.moveTo(undefined)
    await standby.query('SELECT pg_promote()')
    front.moveTo(standby.port)
  }
  /** The standby receives no more than the primary has committed by now. */
  const cutOff = async () => {
    await caughtUp(primary, standby)
    back.moveTo(undefined)
  }
  return { t: bench({ url: url.href }), primary, standby, front, failOver, cutOff }
}

/** Resolves when the standby shows all that the primary has committed. */
async function caughtUp(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [{ lsn } = {}] = await primary.query('SELECT pg_current_wal_lsn()::text AS lsn')
  await until(async () => {
    const [{ has } = {}] = await standby.query('SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS has', [lsn])
    return has === true
  })
}

function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  )
}

onPostgres('a failover', () => {
  test(
    'from a primary that goes on, but takes no writes: pushes reach the new one by new connections',
    LIMIT,
    async () => {
      const { t, primary, standby, front } = await pair({ isSynchronous: true })
      const ran = new Collector<number>()
      const job = t.hq.job('Do', async (_ctx, n: number) => ran.add(n))
      await t.work()
      await job.performAsync(1)
      await until(() => ran.all.includes(1))
      await primary.query('ALTER SYSTEM SET default_transaction_read_only = on')
      await primary.query('SELECT pg_reload_conf()')
      const isStored = (n: number) => succeeds(job.performAsync(n))
      await until(async () => !(await isStored(0)))
      await standby.query('SELECT pg_promote()')
      front.leadTo(standby.port)
      // Each refusal ends a connection to the former primary.
      let refusals = 0
      for (let n = 0; n < 50; n++) if (!(await isStored(2))) refusals++
      expect(refusals).toBeLessThanOrEqual(CONNECTIONS)
      await until(() => ran.all.includes(2))
    },
  )

  test('to a synchronous standby loses no acknowledged push, and no job runs twice', LIMIT, async () => {
    const { t, failOver } = await pair({ isSynchronous: true })
    const ran = new Collector<number>()
    const job = t.hq.job('Do', async (_ctx, n: number) => ran.add(n))
    await t.work({ concurrency: 5 })
    const acknowledged: number[] = []
    const refused: number[] = []
    let n = 0
    let isOver = false
    const push = async () => {
      while (!isOver) {
        const mine = n++
        await job.performAsync(mine).then(
          () => acknowledged.push(mine),
          (thrown) => {
            expect(thrown).toBeInstanceOf(PushError)
            if (thrown.maybePushed === false) refused.push(mine)
          },
        )
        await sleep(2)
      }
    }
    const pushing = Promise.all([push(), push(), push()])
    await until(() => acknowledged.length >= PUSHES)
    await failOver()
    const before = acknowledged.length
    await until(() => acknowledged.length >= before + PUSHES)
    isOver = true
    await pushing
    await until(() => acknowledged.every((one) => ran.all.includes(one)))
    await t.settled()
    expect(ran.all.length).toBe(new Set(ran.all).size)
    expect(refused.filter((one) => ran.all.includes(one))).toEqual([])
    expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: ran.all.length, failed: 0, fetched: 0 })
    expect(t.errors.filter(({ error }) => error.code === 'LEASE_LOST')).toEqual([])
  })

  test(
    'to an asynchronous standby loses only what it had not received: later pushes, and the ends of jobs, which run again',
    LIMIT,
    async () => {
      const { t, failOver, cutOff } = await pair({ isSynchronous: false })
      const begun = new Collector<string>()
      const { opened, open } = gate()
      const job = t.hq.job('Do', async (_ctx, name: string) => {
        begun.add(name)
        if (name === 'ends later') await opened
      })
      await t.work({ concurrency: 1 })
      await job.performAsync('ends later')
      await begun.atLeast(1)
      await job.set({ queue: 'other' }).performAsync('received')
      await cutOff()
      await job.set({ queue: 'other' }).performAsync('not received')
      open()
      const processed = (n: number) => until(async () => (await t.hq.store.metrics.totals()).processed === n)
      await processed(1)
      await failOver()
      await begun.atLeast(2)
      await processed(1)
      await t.work({ queues: ['other'] })
      await begun.atLeast(3)
      await t.settled()
      expect(begun.all).toEqual(['ends later', 'ends later', 'received'])
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 2, failed: 0, enqueued: 0, fetched: 0 })
    },
  )

  test(
    'to an asynchronous standby: all later jobs run, also beside running jobs that it had not received',
    LIMIT,
    async () => {
      const { t, failOver, cutOff } = await pair({ isSynchronous: false })
      const begun = new Collector<string>()
      const { opened, open } = gate()
      const job = t.hq.job('Do', async (_ctx, name: string) => {
        begun.add(name)
        if (name.startsWith('former')) await opened
      })
      // More than a standby is ahead with the numbers of a sequence.
      const names = (kind: string) => Array.from({ length: 60 }, (_, n) => `${kind} ${n}`)
      const push = (kind: string) => job.performBulk(names(kind).map((name) => [name]))
      await t.work({ concurrency: 130 })
      await job.performAsync('first')
      await until(async () => (await t.hq.store.metrics.totals()).processed === 1)
      await cutOff()
      await push('former')
      await begun.atLeast(1 + 60)
      await failOver()
      await until(() => succeeds(t.hq.stats()))
      await push('later')
      await until(() => names('later').every((name) => begun.all.includes(name)))
      open()
      await t.settled()
      expect(begun.all.toSorted()).toEqual(['first', ...names('former'), ...names('later')].toSorted())
      expect(await t.hq.store.metrics.totals()).toMatchObject({ processed: 1 + 60, failed: 0, enqueued: 0, fetched: 0 })
    },
  )

  test(
    'to an asynchronous standby: an ordered id whose fetch it had not received runs again, after its batch',
    LIMIT,
    async () => {
      const { t, failOver, cutOff } = await pair({ isSynchronous: false })
      const begun = new Collector<string>()
      const { opened, open } = gate()
      const running = new Set<string>()
      const twice: string[] = []
      const job = t.hq.ordered('Sync', { shards: 1, serial: 'id', batchSize: 1 }, async (_ctx, batch) => {
        const [[id, [payload]]] = [...batch] as [[string, [string]]]
        if (running.has(id)) twice.push(id)
        running.add(id)
        begun.add(`${id} ${payload}`)
        if (payload === 'former') await opened
        running.delete(id)
      })
      await t.work({ orderedConcurrency: 5 })
      await job.performAsync({ id: 0, payload: 'first' })
      await until(async () => (await job.stats()).processed === 1)
      await cutOff()
      await job.performAsync([1, 2].map((id) => ({ id, payload: 'former' })))
      await begun.atLeast(3)
      await failOver()
      await until(() => succeeds(t.hq.stats()))
      await job.performAsync([1, 2, 3].map((id) => ({ id, payload: 'later' })))
      const [{ token } = { token: 0 }] = (await t.hq.store.ordered.assignments('Sync'))?.owners ?? []
      await until(async () => (await t.hq.store.ordered.inFlight('Sync')).length > 0)
      open()
      await until(() => [1, 2, 3].every((id) => begun.all.includes(`${id} later`)))
      expect(twice).toEqual([])
      // The worker has released the shard, and acquired it again.
      await until(async () => ((await t.hq.store.ordered.assignments('Sync'))?.owners[0]?.token ?? 0) > token)
      await until(async () => (await job.stats()).busy === 0)
    },
  )
})
