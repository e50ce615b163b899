import { words } from '../redis/ask.ts'
import { emptyServer, type RedisServer } from '../redis/server.ts'
import type { Factory } from './bench.ts'

/** A database of its own for each store. `query`: options of the store's URL. */
export function redis(query = '', check: (port: number, database: number) => Promise<void> = async () => {}): Factory {
  let server: Promise<RedisServer> | undefined
  let databases = 0
  return {
    shared: true,
    async make() {
      server ??= emptyServer()
      const { port } = await server
      const database = ++databases
      return {
        url: `redis://127.0.0.1:${port}/${database}${query}`,
        async contents() {
          const [, keys = []] = await words(port, ['SELECT', String(database)], ['KEYS', '*'])
          return keys.filter((key) => /hk:(?!queues$)/.test(key) && !/:(leases|hosts)$/.test(key))
        },
        async shake() {
          await words(port, ['SCRIPT', 'FLUSH'])
        },
        async destroy() {
          await check(port, database)
          await words(port, ['SELECT', String(database)], ['FLUSHDB'])
        },
      }
    },
  }
}

/** Every key begins with the namespace, and with each store that is seen to hold. In the older protocol. */
export const namespaced: Factory = redis('?namespace=app&protocol=2', async (port, database) => {
  const [, keys = []] = await words(port, ['SELECT', String(database)], ['KEYS', '*'])
  const strange = keys.filter((key) => !key.startsWith('app:'))
  if (strange.length > 0) throw new Error(`keys outside of the namespace: ${strange.join(', ')}`)
})
