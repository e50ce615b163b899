import { emptyDatabase, returnDatabase, rowsOf } from '../postgres/databases.ts'
import { sharedPostgres } from '../postgres/server.ts'
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
      destroy: () => returnDatabase(database),
      connect: () => server.connect(database),
      contents: async () => {
        const counts = await rowsOf(database)
        const counted = Object.entries(counts).filter(([table, rows]) => rows > 0 && !OTHERS.includes(table))
        return counted.map(([table, rows]) => `${table}: ${rows}`)
      },
    }
  },
}
