import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProxy } from '../redis/proxy.ts'
import { type RedisServer, startServer } from '../redis/server.ts'
import { ALL_KINDS } from './kinds.ts'
import type { Outcome } from './outcome.ts'
import type { RedisFault } from './redis-faults.ts'
import { storm } from './storm.ts'

export interface RedisStormOptions {
  jobs: number
  /** Of the fault, and of the load. */
  seconds: number
  random: () => number
}

const CONCURRENCY = 10
/** Two calls under way at a time, each with as many ends as there are slots, and the slots. */
const UNSETTLED = 3 * CONCURRENCY

/** Only an owner whose jobs go to others leaves ends unsettled: at most so many jobs run again. */
export function mostRepeats({ lostOwners }: Outcome): number {
  return lostOwners * UNSETTLED
}

/** A storm on a Redis server of its own: workers and pushes reach it through a proxy. */
export async function redisStorm(fault: RedisFault, { jobs, seconds, random }: RedisStormOptions): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-chaos-'))
  const server = await startServer(fault.server)
  const proxy = await startProxy(server, Math.floor(random() * 2 ** 31))
  let good = false
  try {
    const outcome = await storm({
      url: proxy.url(),
      directUrl: server.url(),
      folder,
      jobs,
      mix: ALL_KINDS,
      // There is always something to do when a fault is injected.
      waves: Math.ceil(seconds * 4),
      seconds,
      processes: 3,
      concurrency: CONCURRENCY,
      mostSeconds: 60,
      leftovers: async () => {
        const jobs = await ownersJobs(server)
        return jobs.length > 0 ? [`${jobs.length} jobs are left with their owners: ${jobs.slice(0, 3).join('; ')}`] : []
      },
      inject: (crew) => fault.inject({ server, proxy, crew, seconds, random }),
    })
    good = outcome.complaints.length === 0
    if (!good) outcome.complaints.push(`the notes of the jobs are in ${folder}`)
    return outcome
  } finally {
    await proxy.close()
    await server.remove()
    if (good) rmSync(folder, { recursive: true, force: true })
  }
}

/** The jobs that workers own, by the key in which they lie. */
async function ownersJobs(server: RedisServer): Promise<string[]> {
  const keys = await server.ask('KEYS', 'hk:{queue:*')
  const jobs: string[] = []
  for (const key of keys) {
    if (!/:(working|arriving):/.test(key)) continue
    const texts = /:working:/.test(key) ? await server.ask('HVALS', key) : await server.ask('LRANGE', key, '0', '-1')
    // An empty one stands for a job that was settled.
    for (const text of texts) if (text !== '') jobs.push(`${key} ${text}`)
  }
  return jobs
}
