import type { HighkiqOptions } from 'highkiq'
import { afterAll, beforeAll } from 'vitest'
import { type Bench, bench } from '../engine/bench.ts'
import { ask } from '../redis/ask.ts'
import { type RedisServer, startServer } from '../redis/server.ts'

/** An app on a database of its own, and the database as it is. */
export interface Wire extends Bench {
  /** One command, as another program would send it; answers the words of the reply. */
  redis(...command: (string | number)[]): Promise<string[]>
  /** A job's text as it stands at the head (the newest) of a queue. */
  newest(queue?: string): Promise<string>
}

/** To be called once in a suite: gives a fresh app to each of its tests. */
export function wires(): (options?: HighkiqOptions) => Wire {
  let server: RedisServer
  let databases = 0
  beforeAll(async () => {
    server = await startServer({ databases: 1000 })
  })
  afterAll(() => server.remove())
  return (options = {}) => {
    const database = databases++
    const redis = async (...command: (string | number)[]) => {
      const [, reply] = await ask(server.port, ['SELECT', String(database)], command.map(String))
      if (!reply) throw new Error('no reply')
      const words = reply.parts.map(String)
      if (reply.type === '-') throw new Error(words.join(' '))
      return words
    }
    return {
      ...bench({ url: server.url(database), ...options }),
      redis,
      newest: async (queue = 'default') => (await redis('LINDEX', `queue:${queue}`, 0))[0] ?? '',
    }
  }
}
