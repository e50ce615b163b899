/** Warnings about settings of the Redis server that endanger jobs. */

import type { WorkerStore } from '../../contract.ts'
import type { Server } from './server.ts'

/** The maxmemory-policy with which a full server refuses writes instead of deleting keys. */
const SAFE_POLICY = 'noeviction'

export class ServerAdvice implements Pick<WorkerStore, 'advice'> {
  readonly #server: Server

  constructor(server: Server) {
    this.#server = server
  }

  /** Returns nothing for a server that hides its settings. */
  async advice(): Promise<string[]> {
    const main = await this.#server.ready()
    const info = await main.call((client) => client.info('memory')).catch(() => '')
    const [, policy = SAFE_POLICY] = /^maxmemory_policy:(\S+)/m.exec(info) ?? []
    if (policy === SAFE_POLICY) return []
    return [
      `${this.#server.options.url} has the maxmemory-policy ${policy}: once its memory is used up it throws jobs away instead of refusing more. Set it with CONFIG SET maxmemory-policy ${SAFE_POLICY}, and in redis.conf`,
    ]
  }
}
