import pg from 'pg'
import { dropDatabase, emptyDatabase, sharedPostgres } from '../postgres/server.ts'
import type { StoreFactory } from './factory.ts'

/** Tables that an empty store has rows in, or whose rows say nothing. */
const OTHERS = ['owner', 'queue', 'queue_change', 'stat', 'stat_change', 'ordered_highest']

/** A database of its own for each store. */
export const postgres: StoreFactory = {
  shared: true,
  async create() {
    const server = await sharedPostgres()
    const database = await emptyDatabase()
    return {
      url: server.url('', database),
      destroy: () => dropDatabase(database),
      async connect() {
        const client = new pg.Client({ connectionString: server.url('', database) })
        client.on('error', () => {})
        await client.connect()
        return client
      },
      contents: async () => {
        const tables = await server.query(
          "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'highkiq' AND table_type = 'BASE TABLE' AND table_name <> ALL ($1)",
          [OTHERS],
          database,
        )
        const contents: string[] = []
        for (const { name } of tables) {
          const [{ n } = {}] = await server.query(`SELECT count(*)::int AS n FROM highkiq."${name}"`, [], database)
          if (Number(n) > 0) contents.push(`${name}: ${n}`)
        }
        return contents
      },
    }
  },
}
