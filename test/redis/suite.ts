import { suiteWith } from '../programs/suite.ts'
import { redis } from './program.ts'

/** A suite that needs a Redis server; see `suiteWith`. */
export function onRedis(name: string, suite: () => void): void {
  suiteWith([redis], name, suite)
}
