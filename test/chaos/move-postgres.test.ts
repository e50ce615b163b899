import { startPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { MOVE_SEEDS, moveTest } from './move-suite.ts'

onPostgres('moving jobs between SQLite and PostgreSQL', () => {
  moveTest(Math.ceil(MOVE_SEEDS / 3), startPostgres, (server, seed) => server.url(`?schema=seed_${seed}`))
})
