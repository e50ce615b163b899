import pg from 'pg'
import { test } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { channelOf } from '#dist/store/postgres/server/notifier.js'
import { type Bench, NOW, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { Collector, until } from '../engine/bench.ts'
import { startAnswerProxy } from './answer-proxy.ts'
import { onPostgres } from './suite.ts'

const CHANNEL = channelOf('highkiq')

onPostgres('a process that sends notifications', () => {
  // A statement without an answer ends after 30 seconds.
  const limit = { timeout: 20_000 }

  test('wakes the others of what it stores while the answer to one of its pushes does not come', limit, () =>
    withStoreBehindProxy(async ({ t, store, proxy, heard }) => {
      // Only a push after a pause sends the notification itself, in its own statement.
      const { caught, release } = proxy.hold('marked', CHANNEL)
      let isReleased = false
      const pushing = until(async () => {
        await store.jobs.push([toQueue('before', t.job('marked'))], NOW)
        return isReleased
      })
      await caught
      await pushBatch(store, 1, 'first')
      await heard('first')
      await pushBatch(store, 2, 'second')
      await heard('second')
      isReleased = true
      release()
      await pushing
      await store.jobs.push([toQueue('later', t.job(2))], NOW)
      await heard('later')
    }),
  )

  test('wakes them while the answer to a notification does not come', limit, () =>
    withStoreBehindProxy(async ({ store, proxy, heard }) => {
      const { release } = proxy.hold('SELECT pg_notify')
      await pushBatch(store, 1, 'first')
      await heard('first')
      for (const n of [2, 3, 4]) {
        await pushBatch(store, n, `more ${n}`)
        await heard(`more ${n}`)
      }
      release()
    }),
  )
})

interface Setup {
  t: Bench
  /** A store that has pushed, behind the proxy. */
  store: Store
  proxy: Awaited<ReturnType<typeof startAnswerProxy>>
  /** Resolves when a notification for a queue has come, from now on or before. */
  heard(queue: string): Promise<void>
}

async function withStoreBehindProxy(use: (setup: Setup) => Promise<void>): Promise<void> {
  await withBench(postgres, async (t) => {
    await t.store.open()
    const payloads = new Collector<string>()
    const client = new pg.Client(t.url)
    client.on('notification', ({ payload = '' }) => payloads.add(payload))
    await client.connect()
    const proxy = await startAnswerProxy(t.url)
    const store = openStore(proxy.url)
    const heard = async (queue: string) => {
      for (let n = 1; !payloads.all.some((payload) => JSON.parse(payload).includes(queue)); n++)
        await payloads.atLeast(n)
    }
    try {
      await client.query(`LISTEN "${CHANNEL}"`)
      await store.jobs.push([toQueue('before', t.job(0))], NOW)
      await heard('before')
      await pushBatch(store, 0, 'ready')
      await heard('ready')
      await use({ t, store, proxy, heard })
    } finally {
      await store.close()
      await client.end()
    }
  })
}

/** Stores a batch with a job of a queue: a write that is a write that does not wait for the pushes of jobs of jobs. */
async function pushBatch(store: Store, n: number, queue: string): Promise<void> {
  const bid = String(n).repeat(16)
  const callbacks = { parent: null, onComplete: null, onSuccess: null, onDeath: null, job: null }
  const batch = { bid, meta: '{}', keep: 1000, createdAt: NOW, ...callbacks }
  await store.batches.push({ batches: [batch], members: [{ bid, id: 'a', item: toQueue(queue, '{"jid":"a"}') }] }, NOW)
}
