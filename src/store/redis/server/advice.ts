/** Warnings about settings of the Redis server that endanger jobs. */

import type { WorkerStore } from '../../contract.ts'
import { StorePart } from './server.ts'

/** The maxmemory-policy with which a full server refuses writes instead of deleting keys. */
const SAFE_POLICY = 'noeviction'

export class ServerAdvice extends StorePart implements Partial<WorkerStore> {
  /** Returns nothing for a server that hides its settings. */
  async advice(): Promise<string[]> {
    const info = await this.server.call((client) => client.info('memory')).catch(() => '')
    const [, policy = SAFE_POLICY] = /^maxmemory_policy:(\S+)/m.exec(info) ?? []
    if (policy === SAFE_POLICY) return []
    return [
      `${this.server.options.url} has the maxmemory-policy ${policy}: once its memory is used up it throws jobs away instead of refusing more. Set it with CONFIG SET maxmemory-policy ${SAFE_POLICY}, and in redis.conf`,
    ]
  }
}
