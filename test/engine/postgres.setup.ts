import { beforeEach } from 'vitest'
import { postgres } from '../postgres/program.ts'
import { emptyDatabase, sharedPostgres } from '../postgres/server.ts'
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
  beforeEach(async () => {
    while (ready.length < READY) ready.push(await emptyDatabase())
    databasesOfPostgres.next = () => {
      const database = ready.pop()
      return database && server.url('', database)
    }
  })
} else if (process.env.CI) {
  throw new Error(reason)
} else {
  beforeEach(({ skip }) => skip(reason))
}
