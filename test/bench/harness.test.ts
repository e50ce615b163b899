import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkEffects, Effects } from '../../bench/core/effects.js'
import { parseOptions } from '../../bench/core/options.js'
import { baseRatiosOf, compareRatios, computeRatios, ratiosIn, ratiosOf } from '../../bench/core/ratios.js'
import { loadGroups, loadPeers, MANY_JOBS_FACTOR, partOf } from '../../bench/core/registry.js'
import { planOf } from '../../bench/core/run.js'
import { halfSpread, median, quantile, summarize } from '../../bench/core/statistics.js'
import { renderPages } from '../../bench/report/page.js'
import { ticksOf } from '../../bench/report/svg.js'

const known = { peers: ['highkiq-redis', 'bullmq'], groups: ['process'], workloads: ['process.noop', 'process.cpu'] }

describe('statistics', () => {
  test('a median of an even number of rounds lies between the middle two', () => {
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(quantile([1, 2, 3, 4, 5], 0.75)).toBe(4)
  })

  test('the spread is half the distance of the rounds as a part of the median', () => {
    expect(halfSpread(summarize([90, 100, 130]))).toBeCloseTo(0.2)
  })
})

describe('effects', () => {
  const report = (total: number, ...ran: number[]) => {
    const effects = new Effects(total)
    for (const number of ran) effects.ran(number)
    return JSON.parse(JSON.stringify(effects))
  }

  test('pass when each job ran once in one of the processes', () => {
    expect(() => checkEffects([report(10, 0, 2, 4, 6, 8), report(10, 1, 3, 5, 7, 9)], 10)).not.toThrow()
  })

  test('name the jobs that never ran', () => {
    expect(() => checkEffects([report(10, 0, 1, 2, 4, 5, 6, 8, 9)], 10)).toThrow('of 10 jobs 2 never ran (3, 7)')
  })

  test('name the jobs that ran twice, in one process or in two', () => {
    expect(() => checkEffects([report(3, 0, 1, 1, 2)], 3)).toThrow('1 ran more than once (1)')
    expect(() => checkEffects([report(3, 0, 1), report(3, 1, 2)], 3)).toThrow('1 ran more than once (1)')
  })

  test('name jobs with a number that was never assigned', () => {
    expect(() => checkEffects([report(2, 0, 1, 7)], 2)).toThrow('1 had a wrong number (7)')
    expect(() => checkEffects([report(2, 0, 1, 0.5)], 2)).toThrow('1 had a wrong number (0.5)')
  })

  test('let as many jobs be missing as are still queued', () => {
    expect(() => checkEffects([report(4, 0, 1)], 4, 2)).not.toThrow()
    expect(() => checkEffects([report(4, 0, 1, 2)], 4, 2)).toThrow('1 that ran are still queued')
  })
})

describe('ratios', () => {
  const ratios = ratiosOf('libsql')
  const rounds = (...rates: number[]) => rates.map((rate) => ({ rate, client: rate, redis: rate }))

  test('are medians of the ratios of each round', () => {
    const cells = {
      'process.noop': { 'highkiq-redis': rounds(100, 300, 100), bullmq: rounds(10, 20, 20) },
      'depth.1e3': { 'highkiq-redis': rounds(1) },
      'depth.1e5': { 'highkiq-redis': rounds(2) },
    }
    const computed = computeRatios(ratios, cells)
    expect(computed['process.noop.redis/bullmq']).toEqual({ median: 10, min: 5, max: 15, rounds: [10, 15, 5] })
    expect(computed['cost.1e5-queued/1e3.redis']?.median).toBe(2)
    expect(Object.keys(computed)).toHaveLength(2)
  })

  test.each([
    ['process.noop.redis/bullmq', [7, 7, 7], [7.3, 7.3, 7.3], 'same'],
    ['process.noop.redis/bullmq', [7, 7, 7], [6, 6, 6], 'worse'],
    ['process.noop.redis/bullmq', [7, 7, 7], [8, 8, 8], 'better'],
    ['process.noop.redis/bullmq', [6, 7, 8], [5, 6, 7], 'same'],
    ['process.noop.redis/bullmq', [7, 7, 7], [6, 6], 'same'],
    ['process.noop.redis/bullmq', [7, 7, 7], [5, 5], 'worse'],
    ['process.noop.redis/bullmq', [2, 7, 12], [1, 1, 1], 'noisy'],
    ['latency.p50.redis/raw', [2, 2, 2], [2.5, 2.5, 2.5], 'worse'],
    ['tracked/untracked.redis', [1.5, 1.5, 1.5], [1.2, 1.2, 1.2], 'better'],
  ])('%s of %j, then %j, is %s', (name, before, after, verdict) => {
    const compared = compareRatios(ratios, { [name]: summarize(before) }, { [name]: summarize(after) })
    expect(compared.find((one) => one.name === name)?.verdict).toBe(verdict)
  })

  test('that one of the two runs did not measure are missing', () => {
    const name = 'process.noop.redis/bullmq'
    const one = { [name]: ratios[name] }
    const measured = { [name]: summarize([7, 7, 7]) }
    expect(compareRatios(one, measured, {})).toMatchObject([{ name, before: 7, verdict: 'missing' }])
    expect(compareRatios(one, {}, measured)).toMatchObject([{ name, after: 7, verdict: 'missing' }])
  })

  test('are compared when the plan has both sides', async () => {
    const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
    const ratiosWith = (...names: string[]) =>
      Object.keys(
        ratiosIn(
          planOf(
            groups,
            peers.filter(({ name }) => names.includes(name)),
            parseOptions(['--check'], known),
            ratios,
          ),
          ratios,
        ),
      )
    expect(ratiosWith('raw-redis')).toEqual([])
    expect(ratiosWith('highkiq-libsql', 'raw-libsql', 'bullmq')).toEqual([
      'process.noop.sqlite/floor',
      'tracked/untracked.sqlite',
      'ordered/unordered.sqlite',
    ])
  })

  test('of both drivers name workloads and peers that exist, and --quick plans nothing else', async () => {
    const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
    for (const driver of ['libsql', 'node']) {
      const wanted = Object.values(ratiosOf(driver)).flatMap(({ of, to }) => [of.join(), to.join()])
      const plan = planOf(groups, peers, parseOptions(['--quick'], known), ratiosOf(driver))
      const planned = plan.flatMap(({ workload, peers }) => peers.map(({ name }) => [workload.name, name].join()))
      expect(planned.toSorted()).toEqual([...new Set(wanted)].sort())
    }
  })
})

test('a plan leaves out peers that a workload is not for, and deep workloads without --deep', async () => {
  const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
  const planned = (...args: string[]) =>
    planOf(groups, peers, parseOptions(args, known), ratiosOf('libsql')).filter(
      ({ workload }) => workload.name >= 'depth.1e6' && workload.name < 'e',
    )
  expect(planned().map(({ workload }) => workload.name)).toEqual(['depth.1e6'])
  expect(planned('--deep').map(({ workload }) => workload.name)).toEqual(['depth.1e6', 'depth.1e7'])
  const [{ peers: wanted } = { peers: [] }] = planned()
  expect(wanted.every(({ app, isRaw }) => app || isRaw)).toBe(true)
})

test('features are measured only when they are named, and each is compared with plain jobs', async () => {
  const groups = await loadGroups()
  const peers = (await loadPeers()).filter(({ name }) => name === 'highkiq-redis')
  const planned = (only?: string[]) =>
    planOf(groups, peers, { ...parseOptions([], known), only }, ratiosOf('libsql'))
      .map(({ workload }) => workload.name)
      .filter((name) => name.startsWith('features'))
  expect(planned()).toEqual([])
  const named = planned(['features'])
  expect(named).toContain('features.off')
  const cells = Object.fromEntries(named.map((name) => [name, { 'highkiq-redis': [{ client: 2, redis: 1 }] }]))
  const ratios = computeRatios(baseRatiosOf(groups, peers), cells)
  expect(Object.keys(ratios)).toEqual(named.slice(1).map((name) => `${name}.highkiq-redis`))
  expect(ratios['features.events.highkiq-redis']?.median).toBe(1)
})

describe('options', () => {
  test('--quick --json asks for the ratios in five rounds', () => {
    expect(parseOptions(['--quick', '--json'], known)).toMatchObject({
      quick: true,
      json: true,
      rounds: 5,
      jobs: 30_000,
      warmup: 15_000,
    })
  })

  test('an odd number of jobs warms up with a whole number', () => {
    expect(parseOptions(['--jobs', '1003'], known)).toMatchObject({ jobs: 1003, warmup: 501 })
  })

  test('--check implies --quick', () => {
    expect(parseOptions(['--check'], known)).toMatchObject({ check: true, quick: true })
  })

  test('--only takes groups and workloads', () => {
    expect(parseOptions(['--only', 'process,process.cpu'], known).only).toEqual(['process', 'process.cpu'])
  })

  test.each([
    [['--peers', 'bulmq'], '--peers must name peers (got "bulmq"): use highkiq-redis, bullmq'],
    [
      ['--only', 'proces'],
      '--only must name groups or workloads (got "proces"): use process, process.noop, process.cpu',
    ],
    [['--rounds', '0'], '--rounds must be a whole number, 1 or more (got "0")'],
    [['--jobs', '1e5'], '--jobs must be a whole number, 1000 or more (got "1e5")'],
    [['--fast'], "Unknown option '--fast'; use --only, --peers"],
  ])('%j is refused with what is right', (args, message) => {
    expect(() => parseOptions(args, known)).toThrow(message)
  })
})

test.each([
  [{}, { isFast: true }, 1],
  [{}, { part: 0.1 }, 0.1],
  [{ manyJobs: 'fast peers' }, {}, 1],
  [{ manyJobs: 'fast peers' }, { isFast: true }, MANY_JOBS_FACTOR],
  [{ manyJobs: 'all peers' }, {}, MANY_JOBS_FACTOR],
  [{ manyJobs: 'all peers' }, { part: 0.1 }, 0.1 * MANY_JOBS_FACTOR],
])('in the workload %j the peer %j runs the share %d of the jobs', (workload, peer, part) => {
  expect(partOf(workload, peer)).toBe(part)
})

describe('report', () => {
  const cell = (rate: number, memory: number) => ({ rate, client: 5, redis: 3, memory, bytes: 200 })
  const results = {
    at: '2026-11-23T07:00:00.000Z',
    machine: { node: '20.20.2', cpu: 'AMD EPYC', cores: 2, memory: 24, load: 0.1 },
    versions: { 'highkiq-redis': 'ioredis 6.0.0', bullmq: '6.7.0', 'raw-redis': 'ioredis 6.0.0' },
    driver: 'libsql',
    absent: { lowkiq: 'Ruby has no gem lowkiq' },
    jobs: 40_000,
    rounds: 2,
    seconds: 600,
    failures: [],
    ratios: { 'process.noop.redis/bullmq': summarize([7, 8]) },
    cells: {
      'process.noop': {
        'highkiq-redis': [cell(120_000, 90), cell(130_000, 90)],
        bullmq: [cell(16_000, 60), cell(17_000, 60)],
        'raw-redis': [cell(300_000, 50), cell(300_000, 50)],
      },
      'concurrency.10': { 'highkiq-redis': [cell(60_000, 90)], bullmq: [cell(15_000, 60)] },
    },
  }

  test('shows medians with their rounds, ratios, what peers do better, and what is left out', async () => {
    const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
    const { page, figures } = renderPages(results, groups, peers)
    const row = '| Highkiq on Redis | 125,000 (120,000–130,000) | 5 | 3 | 90 | 200 |'
    expect(figures).toContain(row)
    expect(page).not.toContain(row)
    expect(page).toContain('| `process.noop.redis/bullmq` | 7.5 | 7–8 |')
    expect(page).toContain('| `process.noop` | BullMQ | 60 | 90 |')
    expect(page).not.toContain('| `process.noop` | jobs/s |')
    expect(page).toContain('- `lowkiq`: Ruby has no gem lowkiq.')
  })

  test('says how many more jobs ran where the results have more', async () => {
    const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
    const { page } = renderPages({ ...results, manyJobsFactor: 4 }, groups, peers)
    expect(page).toContain('all queues run 4 times as many')
    expect(renderPages(results, groups, peers).page).not.toContain('times as many')
  })

  test('marks the best figure of each store', async () => {
    const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
    const versions = { ...results.versions, 'highkiq-libsql': 'libsql 0.5' }
    const noop = { ...results.cells['process.noop'], 'highkiq-libsql': [cell(60_000, 80)] }
    const { page } = renderPages({ ...results, versions, cells: { 'process.noop': noop } }, groups, peers)
    expect(page).toMatch(/\| Highkiq on Redis \|.*\*\*125,000\*\*/)
    expect(page).toMatch(/\| Highkiq on libsql \|.*\*\*60,000\*\*/)
    expect(page).toMatch(/\| Redis, one script in a loop \|(?!.*\*\*)/)
  })

  test('calls a run on a busy machine, or with fewer than three rounds, a trial', async () => {
    const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
    const trial = 'Do not quote these figures.'
    const pageOf = (rounds: number, load: number) =>
      renderPages({ ...results, rounds, machine: { ...results.machine, load } }, groups, peers).page
    expect(pageOf(2, 0.1)).toContain(trial)
    expect(pageOf(3, 5)).toContain(trial)
    expect(pageOf(3, 0.1)).not.toContain(trial)
  })

  test('draws bars and lines without scripts, readable on light and dark pages', async () => {
    const [peers, groups] = await Promise.all([loadPeers(), loadGroups()])
    const { page, images } = renderPages(results, groups, peers)
    expect(Object.keys(images)).toEqual(['process.svg', 'concurrency-rate.svg'])
    for (const [name, image] of Object.entries(images)) {
      expect(page).toContain(`](images/benchmarks/${name})`)
      expect(image).toContain('prefers-color-scheme:dark')
      expect(image).not.toMatch(/<script|NaN|Infinity|undefined/)
    }
    expect(images['process.svg']?.match(/<rect/g)).toHaveLength(3)
    expect(images['concurrency-rate.svg']?.match(/<polyline/g)).toHaveLength(2)
  })

  test('puts ticks below the lowest and above the highest number', () => {
    expect(ticksOf([3, 40])).toEqual([2, 5, 10, 20, 50])
    expect(ticksOf([10])).toEqual([10, 20])
  })
})

test('a run measures, counts the effects and prints JSON alone on stdout', async () => {
  const program = new URL('../../bench/index.js', import.meta.url).pathname
  const args = ['--only', 'process.noop', '--peers', 'raw-libsql', '--rounds', '1', '--jobs', '1000', '--json']
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args])
  const { cells, failures, ratios } = JSON.parse(stdout)
  expect(cells['process.noop']['raw-libsql'][0].rate).toBeGreaterThan(0)
  expect({ failures, ratios }).toEqual({ failures: [], ratios: {} })
  expect(stderr).toContain('round 1/1  process.noop, raw-libsql: rate ')
})

test('--check refuses a run that compares no ratio', async () => {
  const program = new URL('../../bench/index.js', import.meta.url).pathname
  const args = ['--check', '--only', 'process', '--peers', 'raw-redis']
  await expect(promisify(execFile)(process.execPath, [program, ...args])).rejects.toMatchObject({
    code: 2,
    stderr: '--check has no ratio to compare with these --only and --peers; --check alone compares all\n',
  })
})

describe('--check against other results', () => {
  const program = new URL('../../bench/index.js', import.meta.url).pathname
  const ratio = 'process.noop.sqlite/floor'
  const driver = isBuiltin('node:sqlite') ? 'node' : 'libsql'

  /** Compares with results whose only ratio is this one. */
  async function check(median: number, manyJobsFactor: number | undefined = MANY_JOBS_FACTOR) {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-bench-test-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'before.json')
    const before = { median, min: median, max: median, rounds: [median] }
    writeFileSync(path, JSON.stringify({ driver, jobs: 1000, manyJobsFactor, ratios: { [ratio]: before } }))
    const about = [
      '--only',
      'process.noop',
      '--peers',
      `highkiq-${driver},raw-${driver}`,
      '--rounds',
      '1',
      '--jobs',
      '1000',
    ]
    const args = [program, '--check', '--against', path, ...about]
    return promisify(execFile)(process.execPath, args).then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }) => ({ code, stderr }),
    )
  }

  test('it exits with 1 when a ratio fell, and names it', async () => {
    const { code, stderr } = await check(1000)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(`WORSE ${ratio}: 1000.000 → .*, tolerance 25%`),
    })
  })

  test('it exits with 0 when a ratio rose', async () => {
    expect(await check(1e-6)).toMatchObject({ code: 0 })
  })

  test('it refuses results with another number of jobs', async () => {
    expect(await check(1, 1)).toEqual({
      code: 2,
      stderr: '--check needs results with the same number of jobs: run npm run bench once to write them\n',
    })
  })

  test('it refuses a file that holds no results', async () => {
    const args = [program, '--check', '--against', '/nowhere.json']
    await expect(promisify(execFile)(process.execPath, args)).rejects.toMatchObject({
      code: 2,
      stderr: '--against must name a file that --json has written (got "/nowhere.json")\n',
    })
  })
})
