// Migrates a schema to versions behind the shipped ones: migrator.js URL '{"functions": "…", "migrations": ["…"]}'
import pg from 'pg'
import { migrate } from '#dist/store/postgres/server/migrate.js'
import { VERSIONS } from '#dist/store/postgres/server/migration-plan.js'
import { readPostgresUrl } from '#dist/store/postgres/server/url.js'

const options = readPostgresUrl(process.argv[2])
const more = JSON.parse(process.argv[3])
const client = new pg.Client(options.connectionString)
client.on('error', () => {})
await client.connect()
try {
  const versions = {
    schema: VERSIONS.schema,
    functions: VERSIONS.functions + more.functions,
    migrations: [...VERSIONS.migrations, ...more.migrations],
  }
  await migrate(client, options, versions)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
await client.end().catch(() => {})
