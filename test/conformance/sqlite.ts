import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Factory } from './bench.ts'

/** A database file of its own for each store, as an application has it. */
export const file: Factory = {
  shared: true,
  async make() {
    const folder = await mkdtemp(join(tmpdir(), 'highkiq-'))
    return {
      url: `sqlite:${join(folder, 'jobs.db')}`,
      destroy: () => rm(folder, { recursive: true, force: true }),
    }
  },
}

/** A database that is gone with its connection: nobody else sees it. */
export const memory: Factory = {
  shared: false,
  make: async () => ({ url: 'sqlite::memory:', destroy: async () => {} }),
}
