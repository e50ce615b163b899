// What the dashboard costs: the first load, the live page, lists over very much, and many queues, processes and tasks.
//   node bench/dashboard.js [--rows 1000000] [--rounds 1] [--only page,lists,scale,tasks]
// Ends with 1 when a figure of `scale` or `tasks` is above its limit (dashboard/limits.js).
// `--rows 10000000` needs some 10 GB of memory for Redis, and minutes to fill the stores.
import { parseArgs } from 'node:util'
import { bothStores } from './dashboard/both-stores.js'
import { checkLimits } from './dashboard/limits.js'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: 'page,lists,scale,tasks' },
  },
})
const table = await bothStores({
  name: 'dashboard',
  parts: values.only.split(','),
  rows: Number(values.rows),
  rounds: Number(values.rounds),
  programs: new URL('dashboard/', import.meta.url).pathname,
})
const { closest, exceeded } = checkLimits(table)
for (const line of closest) console.log(line)
for (const line of exceeded) console.error(`above its limit: ${line}`)
process.exitCode = exceeded.length > 0 ? 1 : 0
