// What tracked tasks cost: time against untracked jobs, memory per row, looking at 500,000 rows, imports and exports.
//   node bench/tasks/index.js [--rows 500000] [--rounds 1] [--only speed,import,export]
import { parseArgs } from 'node:util'
import { bothStores } from '../both.js'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '500000' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: 'speed,import,export' },
  },
})
await bothStores({
  name: 'tasks',
  parts: values.only.split(','),
  rows: Number(values.rows),
  rounds: Number(values.rounds),
  programs: import.meta.dirname,
})
