import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import type { StoreFactory } from './factory.ts'

/** A database file of its own for each store, as an application has it. */
export const file: StoreFactory = {
  shared: true,
  async create() {
    const folder = await mkdtemp(join(tmpdir(), 'highkiq-'))
    return {
      url: `sqlite:${join(folder, 'jobs.db')}`,
      destroy: () => rm(folder, { recursive: true, force: true }),
      contents: () => rowsOf(join(folder, 'jobs.db')),
    }
  },
}

/** A database in memory, which only its connection sees. */
export const memory: StoreFactory = {
  shared: false,
  create: async () => ({ url: 'sqlite::memory:', destroy: async () => {} }),
}

/** `table: rows` of each table that has some; leases, ordinary queues and totals left out. */
async function rowsOf(path: string): Promise<string[]> {
  const driver = await openDriver(path)
  try {
    const others = "('hk_owner', 'hk_queue', 'hk_stat', 'hk_ordered_highest', 'sqlite_sequence')"
    const tables = driver.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ${others}`).all()
    return (tables as { name: string }[]).flatMap(({ name }) => {
      const [{ n }] = driver.prepare(`SELECT count(*) AS n FROM "${name}"`).all() as [{ n: number }]
      return n > 0 ? [`${name}: ${n}`] : []
    })
  } finally {
    driver.close()
  }
}
