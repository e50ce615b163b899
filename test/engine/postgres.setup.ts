import { afterAll, beforeEach } from 'vitest'
import { emptyDatabase, returnDatabase } from '../postgres/databases.ts'
import { postgres } from '../postgres/program.ts'
import { sharedPostgres } from '../postgres/server.ts'
import { reasonVariable } from '../programs/program.ts'
import { databasesOfPostgres } from './bench.ts'

/** The databases that are made before each test, for its apps. An app beyond that makes a schema. */
const READY = 2

/** Lets a suite that knows nothing of stores run on PostgreSQL: see `bench`. */
const reason = process.env[reasonVariable(postgres)]
if (!reason) {
  const server = await sharedPostgres()
  process.env.HIGHKIQ_TEST_POSTGRES = server.url()
  const ready: string[] = []
  const used: string[] = []
  // Not after a test: its apps are closed later.
  const returnUsed = async () => {
    for (const database of used.splice(0)) await returnDatabase(database)
  }
  beforeEach(async () => {
    await returnUsed()
    while (ready.length < READY) ready.push(await emptyDatabase())
    databasesOfPostgres.next = () => {
      const database = ready.pop()
      if (database) used.push(database)
      return database && server.url('', database)
    }
  })
  afterAll(async () => {
    used.push(...ready.splice(0))
    await returnUsed()
  })
} else if (process.env.CI) {
  throw new Error(reason)
} else {
  beforeEach(({ skip }) => skip(reason))
}
