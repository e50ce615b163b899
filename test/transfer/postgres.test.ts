import { postgres } from '../conformance/postgres.ts'
import { file } from '../conformance/sqlite.ts'
import { onPostgres } from '../postgres/suite.ts'
import { movingJobs } from './mover-suite.ts'
import { movingOrdered } from './ordered-suite.ts'
import { movingTasks } from './tasks-suite.ts'

for (const [name, move] of Object.entries({ movingJobs, movingTasks, movingOrdered })) {
  onPostgres(`${name} from SQLite to PostgreSQL`, () => move(file, postgres))
  onPostgres(`${name} from PostgreSQL to SQLite`, () => move(postgres, file))
}
