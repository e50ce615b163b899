/**
 * Finds the server that has the keys of an app in a Redis Cluster: all of them are in one slot, so they are on one master.
 * ioredis' own client for clusters keeps connections to several nodes, and queues and resends commands.
 */

import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { RedisOptions } from 'ioredis'
import type { ClusterNode, ClusterNodes, RedisStoreOptions } from './url.ts'

interface Question {
  ioredis: typeof import('ioredis')
  redis: RedisOptions
  cluster: ClusterNodes
  /** A key in the slot. */
  key: string
}

/** How long to wait for one node: a frozen one must not delay the question to the others. */
const NODE_TIMEOUT_MS = 1000

/** Returns a class for the option `Connector` of ioredis. It connects to the master that has `key`. */
export function clusterConnector(
  ioredis: Question['ioredis'],
  { redis, cluster }: Pick<RedisStoreOptions, 'redis'> & { cluster: ClusterNodes },
  key: string,
): NonNullable<RedisOptions['Connector']> {
  return class extends ioredis.AbstractConnector {
    readonly #options: RedisOptions

    constructor(options: unknown) {
      super((options as { disconnectTimeout: number }).disconnectTimeout)
      this.#options = options as RedisOptions
    }

    async connect(emit: (event: string, error: Error) => void) {
      this.connecting = true
      const { host, port } = await this.#master(emit)
      // The client was disconnected meanwhile.
      if (!this.connecting) throw new Error('Connection is closed.')
      const { family = 0, tls } = this.#options
      const address = { host, port, family }
      this.stream = tls ? connectTls({ ...address, ...tls }) : createConnection(address)
      this.stream.once('error', (error: Error) => {
        this.firstError = error
      })
      return this.stream
    }

    /** Searches again and again, as the client connects again and again. */
    async #master(emit: (event: string, error: Error) => void): Promise<ClusterNode> {
      for (let times = 1; ; times++) {
        try {
          return await findMaster({ ioredis, redis, cluster, key })
        } catch (thrown) {
          const ms = this.connecting ? this.#options.retryStrategy?.(times) : undefined
          if (typeof ms !== 'number') throw thrown
          emit('error', thrown as Error)
          await sleep(ms)
        }
      }
    }
  }
}

/** Asks one node after the other. Rejects with the error of the last one when none answers. */
async function findMaster(question: Question): Promise<ClusterNode> {
  const { cluster } = question
  const nodes = new Map([...cluster.known, ...cluster.seeds].map((node) => [`${node.host} ${node.port}`, node]))
  let failure: unknown
  for (const node of nodes.values()) {
    try {
      const { master, others } = await ask(node, question)
      cluster.known = [node, ...others]
      return master
    } catch (thrown) {
      failure = thrown
    }
  }
  throw failure
}

async function ask(node: ClusterNode, { ioredis, redis, key }: Question) {
  const client = new ioredis.Redis({
    ...redis,
    ...node,
    lazyConnect: true,
    connectTimeout: NODE_TIMEOUT_MS,
    commandTimeout: NODE_TIMEOUT_MS,
    // A frozen node does not end the connection.
    disconnectTimeout: 0,
    retryStrategy: () => null,
    enableReadyCheck: false,
  })
  let failure: Error | undefined
  client.on('error', (error: Error) => {
    failure = error
  })
  try {
    await client.connect()
    const [info, slot, slots] = await Promise.all([
      client.cluster('INFO'),
      client.cluster('KEYSLOT', key),
      client.cluster('SLOTS'),
    ])
    // A node without a majority of the masters does not know the new master.
    if (!info.includes('cluster_state:ok')) throw new Error('CLUSTERDOWN the cluster is down')
    // Each range of slots has its master, then its replicas. A node that does not know its own name means the host that was asked.
    const nodesOf = ([, , ...all]: (typeof slots)[number]) =>
      all.map(([host, port]) => ({ host: !host || host === '?' ? node.host : host, port }))
    const range = slots.find(([first, last]) => first <= slot && slot <= last)
    const [master] = range ? nodesOf(range) : []
    if (!master) throw new Error(`CLUSTERDOWN no node has the slot ${slot}`)
    return { master, others: slots.flatMap(nodesOf) }
  } catch (thrown) {
    throw failure ?? thrown
  } finally {
    client.disconnect()
  }
}
