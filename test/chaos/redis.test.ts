import { describe, test } from 'vitest'
import { chance } from '../conformance/chance.js'
import { onRedis } from '../redis/suite.ts'
import { lineOf } from './outcome.ts'
import { REDIS_FAULTS } from './redis-faults.ts'
import { mostRepeats, redisStorm } from './redis-storm.ts'

// The long form: HIGHKIQ_STORM_JOBS=1500 HIGHKIQ_STORM_SECONDS=5
const JOBS = Number(process.env.HIGHKIQ_STORM_JOBS ?? 800)
const SECONDS = Number(process.env.HIGHKIQ_STORM_SECONDS ?? 3)
/** Storms at the same time: most of it they wait. */
const AT_ONCE = 3

onRedis('jobs of all kinds on Redis: nothing lost, few repeated, every count exact', () => {
  const faults = Object.entries(REDIS_FAULTS)
  for (let from = 0; from < faults.length; from += AT_ONCE) {
    const some = faults.slice(from, from + AT_ONCE)
    describe(some.map(([name]) => name).join('; '), () => {
      test.concurrent.for(some)('%s', { timeout: 300_000 }, async ([name, fault], { expect }) => {
        const outcome = await redisStorm(fault, { jobs: JOBS, seconds: SECONDS, random: chance(Date.now()) })
        expect(outcome.complaints, lineOf(name, outcome)).toEqual([])
        expect(outcome.repeats, lineOf(name, outcome)).toBeLessThanOrEqual(mostRepeats(outcome))
      })
    })
  }
})
