// The options of `npm run bench`. For an unknown name the error lists the known names.
import { parseArgs } from 'node:util'

const OPTIONS = {
  only: { type: 'string', value: 'NAMES', help: 'groups or workloads, with commas: --only process,latency.idle' },
  peers: { type: 'string', value: 'NAMES', help: 'peers, with commas: --peers highkiq-redis,bullmq' },
  rounds: { type: 'string', value: 'N', help: 'interleaved rounds (3; with --quick 5)' },
  jobs: {
    type: 'string',
    value: 'N',
    help: 'jobs that a measurement counts (30000), half as many warm up; fast peers run more where a job takes microseconds',
  },
  quick: { type: 'boolean', help: 'only what the ratios need; fewer rounds when they would last over 4 minutes' },
  check: {
    type: 'boolean',
    help: '--quick, and compares the ratios with bench/results/latest.json; exits 1 when one is worse, noisy or missing',
  },
  against: { type: 'string', value: 'FILE', help: 'the results that --check compares with, instead of latest.json' },
  json: { type: 'boolean', help: 'prints the results as JSON' },
  deep: { type: 'boolean', help: 'also 10,000,000 queued jobs: needs some 6 GB of memory and minutes' },
  report: {
    type: 'boolean',
    help: 'measures nothing; writes its two pages in docs/ again from bench/results/latest.json',
  },
  list: { type: 'boolean', help: 'lists peers and workloads' },
  help: { type: 'boolean', help: 'shows this' },
}

export class UsageError extends Error {}

/** @param known names of `peers`, `groups` and `workloads` */
export function parseOptions(args, known) {
  let values
  try {
    values = parseArgs({ args, options: OPTIONS }).values
  } catch (error) {
    throw new UsageError(`${error.message.split('. ')[0]}; use ${Object.keys(OPTIONS).map(flagOf).join(', ')}`)
  }
  const quick = Boolean(values.quick || values.check)
  const jobs = numberOf('jobs', values.jobs ?? '30000', 1000)
  return {
    ...values,
    quick,
    jobs,
    warmup: Math.floor(jobs / 2),
    rounds: numberOf('rounds', values.rounds ?? (quick ? '5' : '3'), 1),
    only: namesOf('only', 'groups or workloads', values.only, [...known.groups, ...known.workloads]),
    peers: namesOf('peers', 'peers', values.peers, known.peers),
  }
}

export function helpText() {
  const rows = Object.entries(OPTIONS).map(([name, { value, help }]) => [
    [flagOf(name), value].filter(Boolean).join(' '),
    help,
  ])
  const width = Math.max(...rows.map(([flag]) => flag.length))
  return [
    'npm run bench -- [OPTIONS]',
    '',
    'Measures Highkiq and its peers side by side, in interleaved rounds. Without options it measures everything and writes',
    'bench/results/latest.json, docs/benchmarks.md, docs/benchmark-figures.md and the plots. Progress goes to stderr.',
    '',
    ...rows.map(([flag, help]) => `  ${flag.padEnd(width)}  ${help}`),
  ].join('\n')
}

const flagOf = (name) => `--${name}`

/** @throws UsageError unless the text is a whole number that is at least `least` */
export function numberOf(name, text, least) {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least) return number
  throw new UsageError(`--${name} must be a whole number, ${least} or more (got "${text}")`)
}

function namesOf(name, what, text, known) {
  if (text === undefined) return undefined
  const names = text.split(',')
  const unknown = names.find((one) => !known.includes(one))
  if (unknown === undefined) return names
  throw new UsageError(`--${name} must name ${what} (got "${unknown}"): use ${known.join(', ')}`)
}
