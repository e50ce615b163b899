import { setTimeout as sleep } from 'node:timers/promises'
import { MOSTLY_FINE } from './kinds.ts'
import type { Outcome } from './outcome.ts'
import { storm } from './storm.ts'

const KILLS = 20
const CONCURRENCY = 10

export interface KillOptions {
  url: string
  /** For the files in which jobs note what they did. */
  folder: string
  jobs: number
  random: () => number
}

/** Pushes jobs at once, and kills worker processes at random while others do them. */
export function killWorkers({ url, folder, jobs, random }: KillOptions): Promise<Outcome> {
  return storm({
    url,
    folder,
    jobs,
    mix: MOSTLY_FINE,
    waves: 1,
    seconds: 0,
    processes: 3,
    concurrency: CONCURRENCY,
    // They all come at once.
    mostSeconds: 110,
    inject: async (crew) => {
      for (let kill = 0; kill < KILLS; kill++) {
        await sleep(20 + random() * 100)
        await crew.replace(random)
      }
      return KILLS
    },
  })
}

/** What runs in a process when it is killed, runs again. */
export function mostRepeated({ lostOwners }: Outcome): number {
  return lostOwners * CONCURRENCY
}
