import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../postgres/suite.ts'
import { onRedis } from '../redis/suite.ts'
import { commandOf, type OtherVersion, parseOptions, type StoreName } from './harness/options.ts'
import { planOf } from './harness/plan.ts'
import { reportOf } from './harness/report.ts'
import { hasGoodJobs, isGood, runRound } from './harness/round.ts'
import { NAMES } from './harness/workloads.js'

const JOBS = 1000
const TITLE = 'loses no job, counts each, and keeps orders in a short run of npm run chaos'

/** `faults`: words of their names; none: all. */
async function check(store: StoreName, faults: string[] = [], otherVersion?: OtherVersion): Promise<void> {
  const seed = Date.now() % 1_000_000
  const options = { store, jobs: JOBS, seed, workloads: NAMES, faults, ...(otherVersion && { otherVersion }) }
  const outcome = await runRound({ ...options, announce: () => {} })
  expect(isGood(outcome), `seed ${seed}\n${reportOf(outcome)}`).toBe(true)
  expect(outcome.all.done).toBeGreaterThan(JOBS / 2)
  expect(outcome.repeatedPushes).toBeGreaterThan(0)
}

describe('SQLite', () => {
  test(`${TITLE}, also with two versions of the package at once`, { timeout: 180_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-other-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const other = join(folder, 'node_modules/highkiq')
    mkdirSync(other, { recursive: true })
    writeFileSync(join(other, 'package.json'), JSON.stringify({ name: 'highkiq', type: 'module', main: 'index.js' }))
    const note = `import { appendFileSync } from 'node:fs'\nappendFileSync(new URL('begun', import.meta.url), 'x')`
    const { href } = new URL('../../dist/index.js', import.meta.url)
    writeFileSync(join(other, 'index.js'), `${note}\nexport * from '${href}'\n`)
    const { otherVersion } = parseOptions(['--other-version', folder])
    await check('sqlite', [], otherVersion)
    expect(readFileSync(join(other, 'begun'), 'utf8').length).toBeGreaterThan(1)
  })
})

onRedis('Redis', () => {
  test(TITLE, { timeout: 180_000 }, () => check('redis'))
})

// postgres.test.ts also restarts its server, and promotes a standby.
onPostgres('PostgreSQL', () => {
  test(TITLE, { timeout: 180_000 }, () => check('postgres', ['worker', 'pusher', 'kill', 'cut']))
})

test('a soak ends with a verdict of its jobs and how each figure changed', { timeout: 180_000 }, async () => {
  const seen: string[] = []
  const soak = { seconds: 8, rate: 100, progress: (text: string) => seen.push(text) }
  const options = { store: 'sqlite' as const, jobs: 800, seed: 1, workloads: NAMES, faults: [], announce: () => {} }
  const outcome = await runRound({ ...options, soak })
  // So short a run is over before old data is deleted.
  expect(hasGoodJobs(outcome), reportOf(outcome)).toBe(true)
  const units = ['worker: heap', 'pusher: resident', 'file', 'hk_fetched', 'worker: files', 'waiting jobs'].map(
    (name) => outcome.growths.find((growth) => growth.name === name)?.unit,
  )
  expect(units).toEqual(['megabytes', 'megabytes', 'megabytes', 'rows', 'handles', 'rows'])
  expect(reportOf(outcome)).toMatch(/^worker: resident +megabytes +\d+\.\d\d/m)
})

test('a round that breaks off says where its journal is', async () => {
  const options = {
    store: 'unknown' as StoreName,
    jobs: JOBS,
    seed: 1,
    workloads: NAMES,
    faults: [],
    announce: () => {},
  }
  const message = await runRound(options).then(String, ({ message }) => message)
  const [, folder = ''] = /the journal is in (\S+)$/.exec(message) ?? []
  expect(existsSync(folder)).toBe(true)
  rmSync(folder, { recursive: true })
})

describe('the options of npm run chaos', () => {
  test.for([
    [['--jobs', 'many'], '--jobs must be a whole number from 1000 to 10000000 (got "many")'],
    [['--jobs', '10'], '--jobs must be a whole number from 1000 to 10000000 (got "10")'],
    [['--seed', '-1'], "Option '--seed' argument is ambiguous"],
    [['--minutes', '1.5'], '--minutes must be a whole number from 0 to 10000 (got "1.5")'],
    [['--store', 'mysql'], '--store must name some of sqlite, redis, postgres (got "mysql")'],
    [['--workloads', 'plain,'], '--workloads must name some of'],
    [['--sed', '7'], "Unknown option '--sed'"],
    [['--soak', '--jobs', '2000'], '--jobs needs a run without --soak'],
    [['--rate', '100'], '--rate needs a run with --soak'],
    [['--soak', '--minutes', '0'], '--minutes must be a whole number from 1 to 10000 (got "0")'],
    [['--other-version', '/tmp'], '--other-version must be a folder with another highkiq, installed or built'],
    [['--other-version', 'docs'], '(got "docs")'],
    [['--other-version', 'nowhere'], '(got "nowhere")'],
    [['--cron', '--seed', '7'], '--cron takes no --seed, only --minutes'],
  ] as const)('%j is refused', ([args, message]) => {
    expect(() => parseOptions([...args])).toThrow(message)
  })

  test('the command that repeats a round names all that its plan depends on', () => {
    const command = (...args: string[]) => commandOf(parseOptions(args), 'redis', 7)
    expect(command()).toBe('npm run chaos -- --store redis --jobs 20000 --seed 7')
    expect(command('--workloads', 'plain,flows', '--faults', 'kill worker,freeze')).toBe(
      "npm run chaos -- --store redis --jobs 20000 --seed 7 --workloads plain,flows --faults 'kill worker,freeze'",
    )
  })

  test('a soak pushes at a rate for an hour, unless --minutes says how long', () => {
    expect(parseOptions(['--soak'])).toMatchObject({ minutes: 60, rate: 100, jobs: 360_000 })
    const options = parseOptions(['--soak', '--minutes', '5', '--rate', '150', '--faults', 'kill worker'])
    expect(commandOf(options, 'redis', 7)).toBe(
      "npm run chaos -- --soak --store redis --minutes 5 --rate 150 --seed 7 --faults 'kill worker'",
    )
  })

  test('a seed always draws the same faults, and another seed others', () => {
    const faults = ['a', 'b', 'c']
    expect(planOf(7, 20_000, faults)).toEqual(planOf(7, 20_000, faults))
    expect(planOf(7, 20_000, faults)).not.toEqual(planOf(8, 20_000, faults))
    expect(new Set(planOf(7, 20_000, faults).map(({ fault }) => fault))).toEqual(new Set(faults))
  })
})
