// What the dashboard costs: the first load, the live page, lists over very much, and many queues and processes.
//   node bench/dashboard.js [--rows 1000000] [--rounds 1] [--only page,lists,scale]
// `--rows 10000000` needs some 10 GB of memory for Redis, and minutes to fill the stores.
import { parseArgs } from 'node:util'
import { bothStores } from './dashboard/both-stores.js'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: 'page,lists,scale' },
  },
})
await bothStores({
  name: 'dashboard',
  parts: values.only.split(','),
  rows: Number(values.rows),
  rounds: Number(values.rounds),
  programs: new URL('dashboard/', import.meta.url).pathname,
})
