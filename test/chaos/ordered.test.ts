import { expect } from 'vitest'
import { chance } from '../conformance/chance.js'
import { onEachStore } from './on-each-store.ts'
import { orderedStorm } from './ordered-storm.ts'

// The long form: HIGHKIQ_ORDERED_PUSHES=50000 HIGHKIQ_ORDERED_FAULTS=60 HIGHKIQ_ORDERED_PROCESSES=6
const pushes = Number(process.env.HIGHKIQ_ORDERED_PUSHES ?? 4000)
const faults = Number(process.env.HIGHKIQ_ORDERED_FAULTS ?? 6)
const processes = Number(process.env.HIGHKIQ_ORDERED_PROCESSES ?? 3)

onEachStore(
  'an ordered queue',
  'processes are killed, frozen and changed, shards change, the server is killed: no id runs twice at a time, nothing is lost',
  120_000 + pushes * 10,
  async (target) => {
    const seed = Date.now()
    const size = { pushes: pushes * target.share, faults: faults * target.share, ids: Math.ceil(pushes / 100) }
    const outcome = await orderedStorm({ ...size, processes, random: chance(seed), ...target })
    const about = `seed ${seed}, ${outcome.calls} calls, ${JSON.stringify(outcome.faults)}`
    if (process.env.HIGHKIQ_ORDERED_PUSHES) console.log(about)
    expect(outcome.complaints, about).toEqual([])
  },
)
