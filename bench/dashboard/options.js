// The options of bench/dashboard.js.
import { parseArgs } from 'node:util'

const PARTS = ['page', 'lists', 'scale', 'tasks']
const OPTIONS = {
  rows: { type: 'string', default: '1000000' },
  rounds: { type: 'string', default: '1' },
  only: { type: 'string', default: PARTS.join(',') },
  help: { type: 'boolean', default: false },
}

export class UsageError extends Error {}

/** @returns `rows`, `rounds`, `parts` and `help` */
export function parseOptions(args) {
  let values
  try {
    values = parseArgs({ args, options: OPTIONS }).values
  } catch (error) {
    throw new UsageError(`${error.message.split('. ')[0]}; use --${Object.keys(OPTIONS).join(', --')}`)
  }
  const { rows, rounds, only, help } = values
  const parts = only.split(',')
  const unknown = parts.find((one) => !PARTS.includes(one))
  if (unknown !== undefined) throw new UsageError(`--only must name parts (got "${unknown}"): use ${PARTS.join(', ')}`)
  // There is one task for 20 dead jobs, so a low number measures nothing.
  return { rows: numberOf('rows', rows, 100), rounds: numberOf('rounds', rounds, 1), parts, help }
}

export function helpText() {
  return `node bench/dashboard.js [OPTIONS]

Measures what the dashboard costs on SQLite and on Redis, and prints a table. Exits 1 when a figure is above its limit.

  --rows N      jobs of a list, dead jobs, and twice the rows of the large task (1000000); 10000000 needs some 10 GB of
                memory for Redis, and minutes to fill the stores
  --rounds N    interleaved rounds, of which the median counts (1)
  --only PARTS  ${PARTS.join(', ')}: some of them, with commas (all)
  --help        shows this`
}

function numberOf(name, text, least) {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least) return number
  throw new UsageError(`--${name} must be a whole number, ${least} or more (got "${text}")`)
}
