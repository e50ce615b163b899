// The benchmarks: Highkiq beside its peers and beside raw commands. `npm run bench -- --help` lists the options.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { cpus, loadavg, totalmem } from 'node:os'
import { installPeers } from './core/install.js'
import { helpText, parseOptions, UsageError } from './core/options.js'
import { baseRatiosOf, compareRatios, computeRatios, ratiosIn, ratiosOf } from './core/ratios.js'
import { loadGroups, loadPeers, MANY_JOBS_FACTOR } from './core/registry.js'
import { planOf, runPlan } from './core/run.js'
import { writePage } from './report/page.js'

const RESULTS = new URL('results/latest.json', import.meta.url)

const [allPeers, groups] = await Promise.all([loadPeers(), loadGroups()])
/** The SQLite driver that Highkiq takes by default on this Node. */
const driver = isBuiltin('node:sqlite') ? 'node' : 'libsql'
const ratios = ratiosOf(driver)
// Ends the processes that were started, too.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}

async function main() {
  const options = parseOptions(process.argv.slice(2), {
    peers: allPeers.map(({ name }) => name),
    groups: groups.map(({ name }) => name),
    workloads: groups.flatMap(({ workloads }) => workloads.map(({ name }) => name)),
  })
  if (options.help) return print(helpText())
  if (options.list) return print(listing())
  if (options.report) return report(committed())
  const before = options.check ? committed(options.against) : undefined
  const asked = allPeers.filter(({ name }) => options.peers?.includes(name) ?? true)
  const checked = ratiosIn(planOf(groups, asked, options, ratios), ratios)
  if (before) refuseOtherRun(before, options, checked)
  const absent = reasonsOf(allPeers)
  const wanted = asked.filter(({ name }) => !(name in absent))
  for (const { name } of asked) if (name in absent) process.stderr.write(`left out ${name}: ${absent[name]}\n`)
  const plan = planOf(groups, wanted, options, ratios)
  if (plan.length === 0) throw new UsageError('none of these peers has such a workload; --list shows both')
  const peers = wanted.filter((peer) => plan.some((step) => step.peers.includes(peer)))
  if (peers.some(({ fromNpm }) => fromNpm)) installPeers()
  const load = loadavg()[0]
  const { cells, failures, rounds, seconds } = await runPlan(plan, options)
  const results = {
    at: new Date().toISOString(),
    machine: { ...machine(), load: Number(load.toFixed(2)) },
    versions: Object.fromEntries(peers.map((peer) => [peer.name, peer.version?.()])),
    driver,
    absent,
    quick: options.quick,
    jobs: options.jobs,
    manyJobsFactor: MANY_JOBS_FACTOR,
    commit: commitOf(),
    rounds,
    seconds,
    failures,
    ratios: computeRatios({ ...ratios, ...baseRatiosOf(groups, peers) }, cells),
    cells,
  }
  if (!options.quick && !options.only && !options.peers) save(results)
  const compared = before ? compareRatios(checked, before.ratios, results.ratios) : undefined
  const shown = Object.fromEntries(
    Object.entries(results.ratios).map(([name, { median }]) => [name, rounded('', median)]),
  )
  if (options.json) {
    print(JSON.stringify({ ...results, ratios: shown, spread: results.ratios, compared }, rounded, 2))
  } else {
    printCells(cells)
    console.table(results.ratios, ['median', 'min', 'max'])
    if (compared) console.table(compared)
  }
  for (const failure of failures) process.stderr.write(`FAILED ${failure}\n`)
  const bad = compared?.filter(({ verdict }) => !['same', 'better'].includes(verdict)) ?? []
  for (const one of bad) process.stderr.write(`${one.verdict.toUpperCase()} ${one.name}: ${reasonOf(one)}\n`)
  return failures.length + bad.length > 0 ? 1 : 0
}

/** Refuses a comparison of what can't be compared. */
function refuseOtherRun(before, { jobs }, checked) {
  if (Object.keys(checked).length === 0) {
    throw new UsageError('--check has no ratio to compare with these --only and --peers; --check alone compares all')
  }
  if (before.driver !== driver) {
    const got = `this Node takes ${driver}`
    throw new UsageError(`--check needs the driver ${before.driver}, as in bench/results/latest.json (${got})`)
  }
  if (before.jobs !== jobs) {
    throw new UsageError(`--check needs --jobs ${before.jobs}, as in bench/results/latest.json (got ${jobs})`)
  }
  if (before.manyJobsFactor !== MANY_JOBS_FACTOR) {
    throw new UsageError('--check needs results with the same number of jobs: run npm run bench once to write them')
  }
}

function reasonOf({ before, after, tolerance, verdict }) {
  if (verdict === 'missing')
    return `${before === undefined ? 'bench/results/latest.json' : 'this run'} does not have it`
  const much = `${before.toFixed(3)} → ${after.toFixed(3)}, tolerance ${(tolerance * 100).toFixed(0)}%`
  return verdict === 'noisy' ? `${much}; measure again on a quiet machine, with more --rounds` : much
}

function print(text) {
  process.stdout.write(`${text}\n`)
  return 0
}

/** Why peers are left out, by name. */
function reasonsOf(peers) {
  const reasons = peers.map(({ name, unavailable }) => [name, unavailable?.()])
  return Object.fromEntries(reasons.filter(([, reason]) => reason))
}

function commitOf() {
  return spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout?.trim() || undefined
}

function listing() {
  const peers = allPeers.map(({ name, title }) => `  ${name.padEnd(24)}${title}`)
  const workloads = groups.flatMap(({ workloads }) =>
    workloads.map(({ name, title }) => `  ${name.padEnd(24)}${title}`),
  )
  return ['peers', ...peers, '', 'workloads', ...workloads].join('\n')
}

function committed(path = RESULTS) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    if (path !== RESULTS) throw new UsageError(`--against must name a file that --json has written (got "${path}")`)
    throw new UsageError('bench/results/latest.json is missing; npm run bench without options writes it')
  }
}

/** A run in which Highkiq failed is kept beside the committed one. The page lists the failures of the others. */
function save(results) {
  const failed = results.failures.some((failure) => failure.includes(', highkiq'))
  const path = failed ? new URL('failed.json', RESULTS) : RESULTS
  mkdirSync(new URL('.', RESULTS), { recursive: true })
  writeFileSync(path, `${JSON.stringify(results, rounded)}\n`)
  if (failed) process.stderr.write('wrote bench/results/failed.json\n')
  else report(results)
}

function report(results) {
  const written = writePage(results, groups, allPeers)
  process.stderr.write(`wrote ${written.join(', ')}\n`)
  return 0
}

function machine() {
  return {
    node: process.versions.node,
    cpu: cpus()[0].model.trim(),
    cores: cpus().length,
    memory: Math.round(totalmem() / 2 ** 30),
  }
}

function printCells(cells) {
  for (const [workload, byPeer] of Object.entries(cells)) {
    console.log(`\n${workload}`)
    const table = Object.entries(byPeer).map(([peer, rounds]) => [
      peer,
      Object.fromEntries(Object.keys(rounds[0]).map((figure) => [figure, rounded('', middle(rounds, figure))])),
    ])
    console.table(Object.fromEntries(table))
  }
}

function middle(rounds, figure) {
  const sorted = rounds.map((round) => round[figure]).sort((a, b) => a - b)
  return sorted[sorted.length >> 1]
}

/** Four digits are more than the rounds agree on. */
function rounded(_key, value) {
  return typeof value === 'number' && !Number.isInteger(value)
    ? Number(value.toPrecision(value >= 1000 ? 6 : 4))
    : value
}
