import { stringsOf } from '../redis/ask.ts'
import { startClusterOfOne } from '../redis/cluster.ts'
import { leastRights } from '../redis/least-rights.ts'
import { emptyServer, type RedisServer } from '../redis/server.ts'
import type { StoreFactory } from './factory.ts'

/** Returns whether a key is one that an empty store does not have. */
const isContent = (key: string) => /hk:(?!queues$|leases$|renewals$|owner:|machine:)/.test(key)

/** A database of its own for each store. `query`: options of the store's URL; `rights`: of the user that logs in. */
export function redis(
  query = '',
  rights: readonly string[] = ['+@all', '~*', '&*'],
  check: (port: number, database: number) => Promise<void> = async () => {},
): StoreFactory {
  let server: Promise<RedisServer> | undefined
  let databases = 0
  return {
    shared: true,
    async create() {
      server ??= emptyServer()
      const { port } = await server
      const database = ++databases
      await stringsOf(port, ['ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', ...rights])
      return {
        url: `redis://app:secret@127.0.0.1:${port}/${database}${query}`,
        async contents() {
          const [, keys = []] = await stringsOf(port, ['SELECT', String(database)], ['KEYS', '*'])
          return keys.filter(isContent)
        },
        async disturb() {
          await stringsOf(port, ['SCRIPT', 'FLUSH'])
        },
        async destroy() {
          await check(port, database)
          await stringsOf(port, ['SELECT', String(database)], ['FLUSHDB'])
        },
      }
    },
  }
}

/**
 * Checks with each store that every key begins with the namespace. It uses the older protocol, and the user that the
 * docs make.
 */
export const namespaced: StoreFactory = redis('?namespace=app&protocol=2', leastRights, async (port, database) => {
  const [, keys = []] = await stringsOf(port, ['SELECT', String(database)], ['KEYS', '*'])
  const strange = keys.filter((key) => !key.startsWith('app:'))
  if (strange.length > 0) throw new Error(`keys outside of the namespace: ${strange.join(', ')}`)
})

/** A namespace of its own for each store, in a cluster of one node. Checks with each store that all keys are in its slot. */
export function redisCluster(): StoreFactory {
  let server: Promise<RedisServer> | undefined
  let stores = 0
  return {
    shared: true,
    async create() {
      server ??= startClusterOfOne()
      const node = await server
      const namespace = `app${++stores}`
      const own = () => node.ask('KEYS', `{${namespace}}:*`)
      return {
        url: `redis+cluster://127.0.0.1:${node.port}?namespace=${namespace}`,
        async contents() {
          return (await own()).filter(isContent)
        },
        async disturb() {
          await node.ask('SCRIPT', 'FLUSH')
        },
        async destroy() {
          const strange = (await node.ask('KEYS', '*')).filter((key) => !/^\{app\d+\}:/.test(key))
          const keys = await own()
          if (keys.length > 0) await node.ask('UNLINK', ...keys)
          if (strange.length > 0) throw new Error(`keys in other slots: ${strange.join(', ')}`)
        },
      }
    },
  }
}
