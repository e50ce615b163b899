/**
 * Finds the server that has the keys of an app in a Redis Cluster: all of them are in one slot, so they are on one master.
 * ioredis' own client for clusters is not used: it resends commands, so a caller would not know whether a command ran.
 */

import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { RedisOptions } from 'ioredis'
import { REFUSED } from './errors.ts'
import type { ClusterNode, ClusterNodes, RedisStoreOptions } from './url.ts'

interface Question {
  ioredis: typeof import('ioredis')
  redis: RedisOptions
  cluster: ClusterNodes
  /** A key in the hash slot. */
  key: string
  /** Whether the client still waits for the answer. */
  isAwaited(): boolean
}

/** How long to wait for one node: a frozen one must not delay the question to the others. */
const NODE_TIMEOUT_MS = 1000
/** The host of a node that has no hostname, in a cluster whose nodes are called by hostnames. */
const NO_HOSTNAME = '?'

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

    /** Searches until a node names the master, with the pauses of `retryStrategy`. */
    async #master(emit: (event: string, error: Error) => void): Promise<ClusterNode> {
      const isAwaited = () => this.connecting
      for (let times = 1; ; times++) {
        try {
          return await findMaster({ ioredis, redis, cluster, key, isAwaited })
        } catch (thrown) {
          const ms = this.connecting ? this.#options.retryStrategy?.(times) : undefined
          if (typeof ms !== 'number') throw thrown
          emit('error', thrown as Error)
          await sleep(ms)
          if (!this.connecting) throw thrown
        }
      }
    }
  }
}

/** Asks one node after the other. Rejects with the errors of all when none of them names the master. */
async function findMaster(question: Question): Promise<ClusterNode> {
  const { cluster, isAwaited } = question
  const nodes = new Map([...cluster.known, ...cluster.seeds].map((node) => [`${node.host} ${node.port}`, node]))
  const known = new Set(cluster.known.map(({ id }) => id))
  const failures: Error[] = []
  for (const node of nodes.values()) {
    if (!isAwaited()) break
    try {
      const { master, all } = await ask(node, question)
      // The address of a node that is gone may belong to a node of another cluster now. Those of the URL are the user's.
      if (!cluster.seeds.includes(node) && !all.some(({ id }) => known.has(id)))
        throw new Error(`${node.host}:${node.port} is a node of another cluster now`)
      const answering = all.filter(({ host, port }) => host === node.host && port === node.port)
      cluster.known = [...answering, ...all.filter((one) => !answering.includes(one))]
      return master
    } catch (thrown) {
      failures.push(thrown as Error)
    }
  }
  throw joined(failures)
}

/** One node with a wrong password must not stop those who wait until the others are back, so refusals come last. */
function joined(failures: readonly Error[]): Error {
  const isRefusal = ({ message }: Error) => Number(REFUSED.test(message))
  const [first = new Error('Connection is closed.'), ...others] = failures.toSorted(
    (a, b) => isRefusal(a) - isRefusal(b),
  )
  const messages = new Set([first, ...others].map(({ message }) => message))
  return messages.size === 1 ? first : new Error([...messages].join('; '))
}

async function ask({ host, port }: ClusterNode, { ioredis, redis, key }: Question) {
  const client = new ioredis.Redis({
    ...redis,
    host,
    port,
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
    // Each range of slots has its master, then its replicas. A node without a name has the host that was asked.
    const nodesOf = ([, , ...nodes]: (typeof slots)[number]) =>
      nodes.map(([name, port, id]): ClusterNode => ({ host: name || host, port, id: String(id) }))
    const range = slots.find(([first, last]) => first <= slot && slot <= last)
    const [master] = range ? nodesOf(range) : []
    if (!master) throw new Error(`CLUSTERDOWN no node has the hash slot ${slot}`)
    if (master.host === NO_HOSTNAME)
      throw new Error(`the master of the hash slot ${slot} has no cluster-announce-hostname`)
    return { master, all: slots.flatMap(nodesOf).filter(({ host }) => host !== NO_HOSTNAME) }
  } catch (thrown) {
    throw failure ?? thrown
  } finally {
    client.disconnect()
  }
}
