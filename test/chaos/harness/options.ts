import { parseArgs } from 'node:util'
import { NAMES } from './workloads.js'

export const STORES = ['sqlite', 'redis', 'postgres'] as const
export type StoreName = (typeof STORES)[number]

const FEWEST_JOBS = 1000
const MOST_JOBS = 10_000_000
const MOST_MINUTES = 10_000

const OPTIONS = {
  store: { type: 'string', value: 'NAMES', help: `stores, with commas: ${STORES.join(',')} (all)` },
  jobs: { type: 'string', value: 'N', help: `jobs of a run, ${FEWEST_JOBS} or more (20000)` },
  seed: { type: 'string', value: 'N', help: 'draws the faults; the same seed gives the same plan (the time)' },
  minutes: { type: 'string', value: 'N', help: 'runs with the seeds N, N+1, …, until the time is over (one run)' },
  workloads: { type: 'string', value: 'NAMES', help: `workloads, with commas: ${NAMES.join(',')} (all)` },
  faults: { type: 'string', value: 'WORDS', help: 'only the faults whose names have one of these words' },
  cron: {
    type: 'boolean',
    value: '',
    help: 'runs cron entries in many time zones while clocks change, and nothing else; takes only --minutes',
  },
  help: { type: 'boolean', value: '', help: 'shows this' },
} as const

export interface HarnessOptions {
  stores: StoreName[]
  jobs: number
  seed: number
  minutes: number
  workloads: string[]
  faults: string[]
  cron: boolean
  help: boolean
}

export class UsageError extends Error {}

/** @throws UsageError */
export function parseOptions(args: string[]): HarnessOptions {
  const values = parsed(args)
  if (values.cron) {
    const other = Object.keys(values).find((name) => !['cron', 'minutes', 'help'].includes(name))
    if (other !== undefined) throw new UsageError(`--cron takes no --${other}, only --minutes`)
  }
  return {
    stores: namesOf('store', values.store, STORES),
    jobs: numberOf('jobs', values.jobs ?? '20000', FEWEST_JOBS, MOST_JOBS),
    seed: numberOf('seed', values.seed ?? String(Date.now() % 1_000_000), 0, 2 ** 31),
    minutes: numberOf('minutes', values.minutes ?? '0', 0, MOST_MINUTES),
    workloads: namesOf('workloads', values.workloads, NAMES),
    faults: values.faults?.split(',') ?? [],
    cron: values.cron ?? false,
    help: values.help ?? false,
  }
}

/** Returns the command that repeats one round. */
export function commandOf({ jobs, workloads, faults }: HarnessOptions, store: StoreName, seed: number): string {
  const some = workloads.length < NAMES.length ? ` --workloads ${workloads.join(',')}` : ''
  const only = faults.length > 0 ? ` --faults '${faults.join(',')}'` : ''
  return `npm run chaos -- --store ${store} --jobs ${jobs} --seed ${seed}${some}${only}`
}

export function helpText(): string {
  const rows = Object.entries(OPTIONS).map(([name, { value, help }]) => [`--${name} ${value}`, help] as const)
  return [
    'npm run chaos -- [OPTIONS]',
    '',
    'Pushes and runs jobs of all workloads on real stores while it injects faults, and compares what the jobs did with what',
    'the store says. Ends with 1 when a job is lost, a count is off, an order is broken, or a job ran again without a fault.',
    '',
    ...rows.map(([flag, help]) => `  ${flag.padEnd(19)}${help}`),
  ].join('\n')
}

function parsed(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values
  } catch (error) {
    const flags = Object.keys(OPTIONS).map((name) => `--${name}`)
    throw new UsageError(`${(error as Error).message.split('. ')[0]}; use ${flags.join(', ')}`)
  }
}

function numberOf(name: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least && number <= most) return number
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most} (got "${text}")`)
}

function namesOf<Name extends string>(option: string, text: string | undefined, known: readonly Name[]): Name[] {
  if (text === undefined) return [...known]
  const names = text.split(',')
  const unknown = names.find((name) => !known.includes(name as Name))
  if (unknown === undefined) return names as Name[]
  throw new UsageError(`--${option} must name some of ${known.join(', ')} (got "${unknown}")`)
}
