import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { NOW, toQueue, withBench } from '../conformance/bench.ts'
import { postgres } from '../conformance/postgres.ts'
import { onPostgres } from './suite.ts'

/** A way to the server on which the next answer after `lose` is lost, and the connection with it. */
async function wayTo(url: string): Promise<{ url: string; lose(): void }> {
  const { hostname, port } = new URL(url)
  let isLosing = false
  const sockets: Socket[] = []
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    sockets.push(client, server)
    const cut = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) socket.on('error', cut).on('close', cut)
    client.on('data', (bytes) => server.write(bytes))
    server.on('data', (bytes) => {
      if (!isLosing) return client.write(bytes)
      isLosing = false
      cut()
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const way = new URL(url)
  way.port = String((proxy.address() as AddressInfo).port)
  return {
    url: way.href,
    lose: () => {
      isLosing = true
    },
  }
}

onPostgres('an answer that is lost', () => {
  test('the jobs of a fetch whose answer was lost are returned by the next one', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push(
        [1, 2, 3].map((n) => toQueue('q', t.job(n))),
        NOW,
      )
      const way = await wayTo(t.url)
      const store = openStore(way.url)
      try {
        await store.workers.join('w', { queues: ['q'], seconds: 30, host: 'h' })
        const step = (n: number, tickets: string[] = []) => {
          const settlements = tickets.map(
            (ticket) => ({ queue: 'q', ticket, move: null, processed: 1, failed: 0 }) as const,
          )
          return store.workers.settleAndFetch('w', { now: NOW, started: [], settlements, fetch: { queues: ['q'], n } })
        }
        const [first] = (await step(1)).fetched
        way.lose()
        await expect(step(1)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
        const { fetched } = await step(2)
        expect(fetched.map(({ text }) => text).sort()).toEqual([t.job(2), t.job(3)])
        const tickets = [first, ...fetched].map((job) => (job as { ticket: string }).ticket)
        expect(await step(5, tickets)).toMatchObject({ settled: ['ok', 'ok', 'ok'], fetched: [] })
        expect((await t.store.workers.fetched({ limit: 10 })).items).toEqual([])
      } finally {
        await store.close()
      }
    }))

  test('a push whose answer was lost is reported as maybe stored', () =>
    withBench(postgres, async (t) => {
      await t.store.jobs.push([toQueue('q', t.job(1))], NOW)
      const way = await wayTo(t.url)
      const store = openStore(way.url)
      try {
        await store.open()
        way.lose()
        await expect(store.jobs.push([toQueue('q', t.job(2))], NOW)).rejects.toMatchObject({ maybePushed: true })
        expect(await t.store.jobs.queues(['q'])).toMatchObject([{ size: 2 }])
      } finally {
        await store.close()
      }
    }))
})
