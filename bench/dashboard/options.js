// The options of bench/dashboard.js.
import { parseArgs } from 'node:util'
import { STORES } from './each-store.js'

const PARTS = ['page', 'lists', 'scale', 'tasks']
const OPTIONS = {
  rows: { type: 'string', default: '1000000' },
  rounds: { type: 'string', default: '1' },
  only: { type: 'string', default: PARTS.join(',') },
  stores: { type: 'string', default: STORES.join(',') },
  help: { type: 'boolean', default: false },
}

export class UsageError extends Error {}

/** @returns `rows`, `rounds`, `parts`, `stores` and `help` */
export function parseOptions(args) {
  let values
  try {
    values = parseArgs({ args, options: OPTIONS }).values
  } catch (error) {
    throw new UsageError(`${error.message.split('. ')[0]}; use --${Object.keys(OPTIONS).join(', --')}`)
  }
  const { rows, rounds, help } = values
  const parts = namesOf('only', values.only, PARTS)
  const stores = namesOf('stores', values.stores, STORES)
  // There is one task for 20 dead jobs, so a low number measures nothing.
  return { rows: numberOf('rows', rows, 100), rounds: numberOf('rounds', rounds, 1), parts, stores, help }
}

export function helpText() {
  return `node bench/dashboard.js [OPTIONS]

Measures what the dashboard costs on each store, and prints a table. Exits 1 when a figure is above its limit.

  --rows N      jobs of a list, dead jobs, and twice the rows of the large task (1000000); 10000000 needs some 10 GB of
                memory for Redis, and minutes to fill the stores
  --rounds N    interleaved rounds, of which the median counts (1)
  --only PARTS  ${PARTS.join(', ')}: some of them, with commas (all)
  --stores NAMES
                ${STORES.join(', ')}: some of them, with commas (all)
  --help        shows this`
}

function namesOf(option, text, known) {
  const names = text.split(',')
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return names
  throw new UsageError(`--${option} must name some of ${known.join(', ')} (got "${unknown}")`)
}

function numberOf(name, text, least) {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least) return number
  throw new UsageError(`--${name} must be a whole number, ${least} or more (got "${text}")`)
}
