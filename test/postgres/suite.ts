import { suiteWith } from '../programs/suite.ts'
import { postgres } from './program.ts'

/** A suite that needs a PostgreSQL server; see `suiteWith`. */
export function onPostgres(name: string, suite: () => void): void {
  suiteWith([postgres], name, suite)
}
