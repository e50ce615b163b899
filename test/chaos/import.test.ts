import { expect } from 'vitest'
import { chance } from '../conformance/chance.js'
import { importStorm } from './import-storm.ts'
import { onEachStore } from './on-each-store.ts'

// The long form: HIGHKIQ_IMPORT_ROWS=50000 HIGHKIQ_IMPORT_KILLS=60
const rows = Number(process.env.HIGHKIQ_IMPORT_ROWS ?? 4000)
const kills = Number(process.env.HIGHKIQ_IMPORT_KILLS ?? 8)

onEachStore(
  'an import',
  'importer, workers and server are killed: every row has its one event',
  120_000 + rows * 10,
  async (target) => {
    const seed = Date.now()
    const size = { rows: Math.ceil(rows * target.share), kills: kills * target.share }
    const outcome = await importStorm({ ...size, random: chance(seed), ...target })
    expect(outcome.complaints, `seed ${seed}, ${JSON.stringify(outcome.kills)}`).toEqual([])
  },
)
