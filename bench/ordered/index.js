// What order costs: blank jobs against our unordered engine, piled up payloads, idle latency, and whether it stays flat.
//   node bench/ordered/index.js [--rows 100000] [--rounds 3] [--only speed,idle,flat]
import { parseArgs } from 'node:util'
import { bothStores } from '../both.js'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', default: 'speed,idle,flat' },
  },
})
await bothStores({
  name: 'ordered',
  parts: values.only.split(','),
  rows: Number(values.rows),
  rounds: Number(values.rounds),
  programs: import.meta.dirname,
})
