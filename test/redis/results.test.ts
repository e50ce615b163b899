import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { startProxy } from './proxy.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

/** So many cuts that the proxy resets one of the connections: it only ends about half of them. */
const CUTS = 6

onRedis('the wait for a result', () => {
  async function behindProxy(options = {}) {
    const server = await startServer()
    const proxy = await startProxy(server)
    const store = openStore(proxy.url(), options)
    onTestFinished(async () => {
      await store.close()
      await proxy.close()
      await server.remove()
    })
    return { proxy, store }
  }
  const isSubscription = (name: string) => name === 'SUBSCRIBE'

  test('goes on when the connection on which it listens gives no answer', async () => {
    const { proxy, store } = await behindProxy({ redisTimeout: 0.5 })
    const held = proxy.onRequest(isSubscription, 'hold')
    const again = proxy.onRequest(isSubscription, 'pass')
    const found = store.results.find('a', 60_000)
    await held.happened
    // Behind the held request no other one of its connection arrives.
    await again.happened
    await store.results.keep('a', 'text', 60)
    expect(await found).toBe('text')
  })

  test('goes on when the connection on which it listens is cut or reset', async () => {
    const { proxy, store } = await behindProxy()
    let step = proxy.onRequest(isSubscription, 'hold')
    const found = store.results.find('a', 60_000)
    for (let n = 0; n < CUTS; n++) {
      await step.happened
      const held = step
      step = proxy.onRequest(isSubscription, n < CUTS - 1 ? 'hold' : 'pass')
      held.cut()
    }
    await step.happened
    await store.results.keep('a', 'text', 60)
    expect(await found).toBe('text')
  })
})
