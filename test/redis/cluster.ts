/** A Redis Cluster of one test. */

import type { TestContext } from 'vitest'
import { until } from '../engine/bench.ts'
import { freePort } from './port.ts'
import { type RedisServer, type ServerOptions, startServer } from './server.ts'

const SLOTS = 16_384
const MASTERS = 3
/** A node that does not answer for so long counts as failed. */
const NODE_TIMEOUT_MS = 3000

/** Starts a server that has all slots: a cluster of one node, which is ready at once. */
export async function startClusterOfOne(options: ServerOptions = {}): Promise<RedisServer> {
  const node = await startServer({
    'cluster-enabled': true,
    'cluster-port': await freePort(),
    'repl-diskless-sync-delay': 0,
    ...options,
  })
  await node.ask('CLUSTER', 'ADDSLOTSRANGE', '0', String(SLOTS - 1))
  return node
}

export class Cluster {
  /** The masters, then a replica of each. Any of them may become a master. */
  readonly nodes: readonly RedisServer[]

  private constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes
  }

  /** Starts three masters with a replica each. */
  static async start({ onTestFinished }: Pick<TestContext, 'onTestFinished'>): Promise<Cluster> {
    const options = {
      'cluster-enabled': true,
      'cluster-node-timeout': NODE_TIMEOUT_MS,
      'cluster-allow-replica-migration': false,
      'repl-diskless-sync-delay': 0,
    }
    const nodes = await Promise.all(
      Array.from({ length: 2 * MASTERS }, async () => startServer({ ...options, 'cluster-port': await freePort() })),
    )
    for (const node of nodes) onTestFinished(() => node.remove())
    const cluster = new Cluster(nodes)
    const [first, ...others] = nodes as [RedisServer, ...RedisServer[]]
    for (const [i, master] of nodes.slice(0, MASTERS).entries()) {
      const [from, end] = [i, i + 1].map((n) => Math.floor((SLOTS / MASTERS) * n)) as [number, number]
      await master.ask('CLUSTER', 'ADDSLOTSRANGE', String(from), String(end - 1))
      await master.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
    }
    for (const node of others) {
      const [, busPort = ''] = await node.ask('CONFIG', 'GET', 'cluster-port')
      await first.ask('CLUSTER', 'MEET', '127.0.0.1', String(node.port), busPort)
    }
    await until(() => cluster.#all(/cluster_known_nodes:6\r\n/, 'CLUSTER', 'INFO'))
    for (const [i, replica] of nodes.slice(MASTERS).entries()) {
      await replica.ask('CLUSTER', 'REPLICATE', await idOf(nodes[i] as RedisServer))
    }
    await until(() => cluster.#all(/cluster_state:ok\r\n/, 'CLUSTER', 'INFO'))
    for (const master of nodes.slice(0, MASTERS)) {
      await until(async () => (await master.ask('INFO', 'replication')).join().includes('state=online'))
    }
    return cluster
  }

  /** The URL of an app, which names these nodes. */
  url(namespace: string, nodes = this.nodes, query = ''): string {
    return `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}?namespace=${namespace}${query}`
  }

  /** Returns the node that has the keys of an app. The others refuse to read them. */
  async masterOf(namespace: string): Promise<RedisServer> {
    for (const node of this.nodes) {
      if (await node.ask('EXISTS', `{${namespace}}`).catch(() => undefined)) return node
    }
    throw new Error('no node has the slot')
  }

  /** Prepares to move the slot of an app to another master. */
  async slotMove(namespace: string): Promise<SlotMove> {
    const from = await this.masterOf(namespace)
    const [slot = ''] = await from.ask('CLUSTER', 'KEYSLOT', `{${namespace}}`)
    const masters = this.nodes.slice(0, MASTERS)
    return new SlotMove(slot, from, masters.find((node) => node !== from) as RedisServer)
  }

  /** Returns whether the answer of every node matches. */
  async #all(pattern: RegExp, ...command: string[]): Promise<boolean> {
    const answers = await Promise.all(this.nodes.map((node) => node.ask(...command)))
    return answers.every((answer) => pattern.test(answer.join()))
  }
}

/** Moves a slot from one master to another, in steps, as `redis-cli --cluster reshard` does. */
export class SlotMove {
  readonly #slot: string
  readonly from: RedisServer
  readonly to: RedisServer

  constructor(slot: string, from: RedisServer, to: RedisServer) {
    this.#slot = slot
    this.from = from
    this.to = to
  }

  async begin(): Promise<void> {
    await this.to.ask('CLUSTER', 'SETSLOT', this.#slot, 'IMPORTING', await idOf(this.from))
    await this.from.ask('CLUSTER', 'SETSLOT', this.#slot, 'MIGRATING', await idOf(this.to))
  }

  /** Moves these keys. */
  async move(...keys: string[]): Promise<void> {
    await this.from.ask('MIGRATE', '127.0.0.1', String(this.to.port), '', '0', '5000', 'KEYS', ...keys)
  }

  /** Moves at most so many keys; returns how many. */
  async moveSome(count: number): Promise<number> {
    const keys = await this.from.ask('CLUSTER', 'GETKEYSINSLOT', this.#slot, String(count))
    if (keys.length > 0) await this.move(...keys)
    return keys.length
  }

  /** Makes the other master the owner, once all keys have moved. */
  async end(): Promise<void> {
    const id = await idOf(this.to)
    for (const node of [this.to, this.from]) await node.ask('CLUSTER', 'SETSLOT', this.#slot, 'NODE', id)
  }
}

async function idOf(node: RedisServer): Promise<string> {
  const [id = ''] = await node.ask('CLUSTER', 'MYID')
  return id
}
