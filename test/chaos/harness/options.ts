import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { NAMES } from './workloads.js'

export const STORES = ['sqlite', 'redis', 'postgres'] as const
export type StoreName = (typeof STORES)[number]

const FEWEST_JOBS = 1000
const MOST_JOBS = 10_000_000
const MOST_MINUTES = 10_000
const MOST_RATE = 10_000

const OPTIONS = {
  store: { type: 'string', value: 'NAMES', help: `stores, with commas: ${STORES.join(',')} (all)` },
  jobs: { type: 'string', value: 'N', help: `jobs of a run, ${FEWEST_JOBS} or more (20000)` },
  seed: { type: 'string', value: 'N', help: 'draws the faults; the same seed gives the same plan (the time)' },
  minutes: { type: 'string', value: 'N', help: 'runs with the seeds N, N+1, …, until the time is over (one run)' },
  workloads: { type: 'string', value: 'NAMES', help: `workloads, with commas: ${NAMES.join(',')} (all)` },
  faults: { type: 'string', value: 'WORDS', help: 'only the faults whose names have one of these words' },
  soak: {
    type: 'boolean',
    value: '',
    help: 'pushes at a steady rate, without faults unless --faults names some, and reports what grows; takes no --jobs',
  },
  rate: { type: 'string', value: 'N', help: 'jobs that a soak pushes in a second (100)' },
  'other-version': {
    type: 'string',
    value: 'FOLDER',
    help: 'every second process runs the highkiq that is installed or built in this folder',
  },
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
  isSoak: boolean
  rate: number
  /** Another version of the package: its folder as it was given, and the URL of its main file. */
  otherVersion?: OtherVersion
  cron: boolean
  help: boolean
}

export interface OtherVersion {
  folder: string
  main: string
}

export class UsageError extends Error {}

/** @throws UsageError */
export function parseOptions(args: string[]): HarnessOptions {
  const values = parsed(args)
  if (values.cron) {
    const other = Object.keys(values).find((name) => !['cron', 'minutes', 'help'].includes(name))
    if (other !== undefined) throw new UsageError(`--cron takes no --${other}, only --minutes`)
  }
  const { soak = false } = values
  const unfit = soak ? 'jobs' : 'rate'
  if (values[unfit] !== undefined) throw new UsageError(`--${unfit} needs a run ${soak ? 'without' : 'with'} --soak`)
  const rate = numberOf('rate', values.rate ?? '100', 1, MOST_RATE)
  const minutes = soak
    ? numberOf('minutes', values.minutes ?? '60', 1, MOST_MINUTES)
    : numberOf('minutes', values.minutes ?? '0', 0, MOST_MINUTES)
  return {
    stores: namesOf('store', values.store, STORES),
    jobs: soak ? minutes * 60 * rate : numberOf('jobs', values.jobs ?? '20000', FEWEST_JOBS, MOST_JOBS),
    seed: numberOf('seed', values.seed ?? String(Date.now() % 1_000_000), 0, 2 ** 31),
    minutes,
    workloads: namesOf('workloads', values.workloads, NAMES),
    faults: values.faults?.split(',') ?? [],
    isSoak: soak,
    rate,
    ...(values['other-version'] === undefined ? {} : { otherVersion: otherVersionIn(values['other-version']) }),
    cron: values.cron ?? false,
    help: values.help ?? false,
  }
}

/** Returns the command that repeats one round. */
export function commandOf(options: HarnessOptions, store: StoreName, seed: number): string {
  const { jobs, workloads, faults, isSoak, minutes, rate, otherVersion } = options
  const some = workloads.length < NAMES.length ? ` --workloads ${workloads.join(',')}` : ''
  const only = faults.length > 0 ? ` --faults '${faults.join(',')}'` : ''
  const length = isSoak
    ? `--soak --store ${store} --minutes ${minutes} --rate ${rate}`
    : `--store ${store} --jobs ${jobs}`
  const version = otherVersion ? ` --other-version '${otherVersion.folder}'` : ''
  return `npm run chaos -- ${length} --seed ${seed}${some}${only}${version}`
}

export function helpText(): string {
  const rows = Object.entries(OPTIONS).map(([name, { value, help }]) => [`--${name} ${value}`, help] as const)
  return [
    'npm run chaos -- [OPTIONS]',
    '',
    'Pushes and runs jobs of all workloads on real stores while it injects faults, and compares what the jobs did with what',
    'the store says. Ends with 1 when a job is lost, a count is off, an order is broken, or a job ran again without a fault.',
    '',
    ...rows.map(([flag, help]) => `  ${flag.padEnd(23)}${help}`),
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

function otherVersionIn(folder: string): OtherVersion {
  try {
    const main = createRequire(resolve(folder, 'package.json')).resolve('highkiq')
    // Node also searches in the parent folders, and may find this version there.
    if (existsSync(folder) && main !== createRequire(import.meta.url).resolve('highkiq')) {
      return { folder, main: pathToFileURL(main).href }
    }
  } catch {
    // Nothing was found.
  }
  throw new UsageError(`--other-version must be a folder with another highkiq, installed or built (got "${folder}")`)
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
