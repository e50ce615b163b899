import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { Heard } from '../engine/bench.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('the wait for a result', () => {
  test('goes on when the connection on which it listens is reset', async () => {
    const server = await startServer()
    const target = Number(new URL(server.url(0)).port)
    const listening = new Heard<Socket>()
    const sockets: Socket[] = []
    const proxy = createServer((client) => {
      const link = connect(target, '127.0.0.1')
      sockets.push(client, link)
      client.on('data', (bytes) => {
        if (/\bsubscribe\b/i.test(String(bytes))) listening.say(client)
        link.write(bytes)
      })
      link.on('data', (bytes) => client.write(bytes))
      for (const socket of [client, link]) {
        socket
          .on('error', () => {})
          .on('close', () => {
            client.destroy()
            link.destroy()
          })
      }
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const store = openStore(`redis://127.0.0.1:${(proxy.address() as AddressInfo).port}/0`)
    onTestFinished(async () => {
      await store.close()
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await server.remove()
    })
    const found = store.results.find('a', 60_000)
    const [first] = await listening.atLeast(1)
    first?.resetAndDestroy()
    await listening.atLeast(2)
    await store.results.keep('a', 'text', 60)
    expect(await found).toBe('text')
  })
})
