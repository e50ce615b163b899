import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { hostname } from 'node:os'
import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { runBench } from '#dist/cli/bench-run.js'
import { until } from '../engine/bench.ts'
import { emptyDatabase, returnDatabase } from '../postgres/databases.ts'
import { sharedPostgres } from '../postgres/server.ts'
import { onPostgres } from '../postgres/suite.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

const timeout = 120_000
const HOST = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
/** No process has this pid. */
const DEAD = 2 ** 30
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function nameOf({ host = HOST, pid = DEAD, age = 0 }: { host?: string; pid?: number; age?: number }): string {
  return `highkiq-bench-${host}-${pid}-${Date.now() - age}-012345`
}

const LATE = HOUR_MS + 1000
const KILLED = [
  nameOf({ age: LATE }),
  nameOf({ pid: process.pid, age: LATE }),
  nameOf({ host: 'e15e3e4e', age: DAY_MS + 1000 }),
]
/** Runs that still go on, and what is none. */
const OTHERS = [
  nameOf({}),
  nameOf({ pid: 1, age: LATE }),
  nameOf({ host: 'e15e3e4e', age: LATE }),
  'highkiq-bench-results',
  'highkiq-bench',
]

const MEASURED = {
  latency: { p50: expect.any(Number), p95: expect.any(Number), p99: expect.any(Number) },
  measurements: [
    { name: 'push, 100 calls at a time', jobs: 250, jobsPerSecond: expect.any(Number) },
    { name: 'push in bulk', jobs: 250 },
    { name: 'run', jobs: 500, cpuMicrosecondsPerJob: expect.any(Number) },
    { name: 'push in bulk and run', jobs: 250 },
    { name: 'push as rows of a task and run', jobs: 250 },
  ],
}

test('bench measures beside the file, leaves nothing, and removes what killed runs have left', { timeout }, async ({
  folder,
}) => {
  const url = ['--url', `sqlite:${folder.at('jobs.db')}?synchronous=normal`]
  await runHere(['enqueue', 'Mine', ...url])
  for (const name of [...KILLED, ...OTHERS]) mkdirSync(folder.at(name))
  const { code, stdout, stderr } = await runHere(['bench', '--jobs', '250', '-c', '3', '--bytes', '100', ...url])
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^MEASUREMENT +JOBS .*^run +500 .*^idle latency +p50 /ms)])
  expect(stdout).toMatch(/^concurrency +3\nbytes +100$/m)
  expect(stderr).toContain('highkiq: measuring: push in bulk\n')
  for (const name of KILLED) expect(stderr).toContain(`removed ${name}, left by a killed run\n`)
  const kept = readdirSync(folder.path).filter((name) => name.startsWith('highkiq-bench'))
  expect(kept.sort()).toEqual([...OTHERS].sort())

  const again = await runHere(['bench', '--jobs', '250', '--json', ...url])
  expect(JSON.parse(again.stdout)).toMatchObject({ store: `sqlite:${folder.at('jobs.db')}`, ...MEASURED })
  expect(again.stderr).not.toContain('removed')
  const stats = JSON.parse((await runHere(['stats', '--json', ...url])).stdout)
  expect(stats).toMatchObject({ enqueued: 1, processed: 0, processes: 0 })
})

test('after Ctrl-C bench leaves nothing; an hour later a run removes what a killed one has left', { timeout }, async ({
  folder,
}) => {
  const left = () => readdirSync(folder.path).filter((name) => name.startsWith('highkiq-bench'))
  const interrupted = folder.start(['bench', '--jobs', '1000000'])
  await interrupted.waitFor(/measuring: push/)
  await until(() => left().length === 1)
  interrupted.kill('SIGINT')
  expect(await interrupted.ended).toMatchObject({ code: 130, stdout: '' })
  expect(left()).toEqual([])

  const killed = folder.start(['bench', '--jobs', '1000000'])
  await killed.waitFor(/measuring: push/)
  const [name] = left()
  killed.kill('SIGKILL')
  await killed.ended
  expect(left()).toEqual([name])
  // Another container with this host name may still run it.
  expect((await folder.run(['bench', '--jobs', '50'])).stderr).not.toContain('removed')
  const late = (name as string).replace(/\d{13}/, String(Date.now() - LATE))
  renameSync(folder.at(name as string), folder.at(late))
  const next = await folder.run(['bench', '--jobs', '50'])
  expect([next.code, next.stderr]).toEqual([0, expect.stringContaining(`removed ${late}, left by a killed run`)])
  expect(left()).toEqual([])
})

test('bench fails when a job runs twice', async () => {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  const store = { hq, url: '', server: null, serverCpu: async () => null, clean: async () => [] }
  let calls = 0
  hq.server.use(async (_ctx, next) => {
    if (++calls === 7) await next()
    return next()
  })
  const signal = new AbortController().signal
  const run = runBench(store, { jobs: 20, concurrency: 2, maxSeconds: 1, signal })
  await expect(run).rejects.toThrow(/^bench pushed \d+ jobs, and \d+ of them ran, in \d+ runs: the store counts/)
  await hq.close()
})

test('the arguments of each job have the length that --bytes names', async () => {
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  const store = { hq, url: '', server: null, serverCpu: async () => null, clean: async () => [] }
  const lengths = new Set<number>()
  hq.server.use((ctx, next) => {
    lengths.add(JSON.stringify(ctx.args).length)
    return next()
  })
  const signal = new AbortController().signal
  await runBench(store, { jobs: 20, concurrency: 2, bytes: 2000, maxSeconds: 1, signal })
  expect([...lengths]).toEqual([2000])
  await hq.close()
})

test("bench names the option with a wrong value, and a folder that it can't write into", async ({ folder }) => {
  const cases: [args: string[], code: number, message: string][] = [
    [['--jobs', '0'], 2, "option '--jobs <n>' argument '0' is invalid. It must be a whole number, 1 or more."],
    [['--jobs', '1000001'], 2, "argument '1000001' is invalid. It must be at most 1,000,000."],
    [['--bytes', '15'], 2, "option '--bytes <n>' argument '15' is invalid. It must be 16 to 100,000."],
    [['--bytes', '100001'], 2, 'It must be 16 to 100,000.'],
    [['-c', 'all'], 2, "option '-c, --concurrency <n>' argument 'all' is invalid."],
    [['--url', 'mongo://x'], 2, '"mongo://x" is not a store URL'],
    [
      ['--url', `sqlite:${folder.at('none/jobs.db')}`],
      1,
      `bench can't create a folder beside ${folder.at('none/jobs.db')} (ENOENT`,
    ],
  ]
  for (const [args, code, message] of cases) {
    expect(await runHere(['bench', ...args])).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  }
})

onRedis('highkiq bench on Redis', () => {
  test('it works in a namespace of its own and removes only such keys', { timeout }, async ({
    folder,
    onTestFinished,
  }) => {
    const server = await startServer({ databases: 1 })
    onTestFinished(() => server.remove())
    const keys = [
      ...OTHERS.map((name) => `${name}:queues`),
      'stat:processed',
      ...OTHERS.map((name) => `app:${name}:queues`),
    ]
    for (const key of keys) await server.ask('SET', key, '5')
    for (const name of KILLED) await server.ask('SET', `${name}:queues`, '5')
    const { code, stdout, stderr } = await runHere(['bench', '--jobs', '250', '--json', '--url', server.url()])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ server: expect.stringMatching(/^Redis \d/), ...MEASURED })
    expect(JSON.parse(stdout).measurements[2].serverMicrosecondsPerJob).toBeGreaterThan(0)
    for (const name of KILLED) expect(stderr).toContain(`removed ${name}, left by a killed run\n`)
    expect((await server.ask('KEYS', '*')).sort()).toEqual([...keys].sort())
    expect(await server.ask('GET', 'stat:processed')).toEqual(['5'])

    await server.ask('SET', `app:${KILLED[0]}:queues`, '5')
    const named = await runHere(['bench', '--jobs', '50', '--url', `${server.url()}?namespace=app`])
    expect([named.code, named.stderr]).toEqual([0, expect.stringContaining(`${KILLED[0]}`)])
    expect((await server.ask('KEYS', '*')).sort()).toEqual([...keys].sort())

    const interrupted = folder.start(['bench', '--jobs', '1000000', '--url', server.url()])
    await interrupted.waitFor(/measuring: push/)
    await until(async () => (await server.ask('KEYS', `highkiq-bench-${HOST}-${interrupted.pid}-*`)).length > 0)
    interrupted.kill('SIGINT')
    expect(await interrupted.ended).toMatchObject({ code: 130, stdout: '' })
    expect((await server.ask('KEYS', '*')).sort()).toEqual([...keys].sort())

    await server.ask('CONFIG', 'SET', 'maxmemory', '20mb')
    const full = await runHere(['bench', '--url', server.url()])
    expect(full).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/left \(maxmemory\), .*fewer --jobs/),
    })
  })
})

onPostgres('highkiq bench on PostgreSQL', () => {
  test('it works in a schema of its own and drops only such schemas, also after an error and Ctrl-C', {
    timeout,
  }, async ({ folder, onTestFinished }) => {
    const [server, database] = [await sharedPostgres(), await emptyDatabase()]
    onTestFinished(() => returnDatabase(database))
    const query = (sql: string) => server.query(sql, [], database)
    const schemas = async () => {
      const rows = await query("SELECT nspname AS name FROM pg_namespace WHERE nspname LIKE 'highkiq%' ORDER BY 1")
      return rows.map(({ name }) => name as string)
    }
    const schemaOf = (name: string) => name.replaceAll('-', '_')
    for (const name of [...KILLED, ...OTHERS]) await query(`CREATE SCHEMA ${schemaOf(name)}`)
    const foreign = schemaOf(nameOf({ age: LATE + 1 }))
    await query(`CREATE SCHEMA ${foreign} AUTHORIZATION pg_monitor`)
    const kept = ['highkiq', foreign, ...OTHERS.map(schemaOf)].sort()
    const url = ['--url', server.url('?connections=3', database)]
    await runHere(['enqueue', 'Mine', ...url])

    const { code, stdout, stderr } = await runHere(['bench', '--jobs', '250', '--json', ...url])
    expect([code, stderr]).toEqual([0, expect.stringContaining('highkiq: measuring: push in bulk\n')])
    expect(JSON.parse(stdout)).toMatchObject({
      store: server.url('?connections=3', database),
      server: expect.stringMatching(/^PostgreSQL \d/),
      ...MEASURED,
    })
    for (const name of KILLED) expect(stderr).toContain(`removed ${schemaOf(name)}, left by a killed run\n`)
    expect(await schemas()).toEqual(kept)
    const stats = JSON.parse((await runHere(['stats', '--json', ...url])).stdout)
    expect(stats).toMatchObject({ enqueued: 1, processed: 0, processes: 0 })

    const begin = async () => {
      const running = folder.start(['bench', '--jobs', '1000000', ...url])
      await running.waitFor(/measuring: push/)
      const [schema = ''] = (await schemas()).filter((name) => !kept.includes(name))
      expect(schema).toMatch(new RegExp(`^highkiq_bench_${HOST}_${running.pid}_`))
      return { running, schema }
    }
    const interrupted = await begin()
    interrupted.running.kill('SIGINT')
    expect(await interrupted.running.ended).toMatchObject({ code: 130, stdout: '' })
    expect(await schemas()).toEqual(kept)

    const failing = await begin()
    await query(`ALTER SCHEMA ${failing.schema} RENAME TO ${schemaOf(nameOf({ age: LATE }))}`)
    expect(await failing.running.ended).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('dropped'),
    })
    expect(await schemas()).toEqual(kept)
  })

  test('it says so when there is no such database, or the user may not create a schema', async ({ onTestFinished }) => {
    const server = await sharedPostgres()
    await server.query('CREATE ROLE bench_reader LOGIN')
    onTestFinished(() => server.query('DROP ROLE bench_reader').then(() => {}))
    for (const [url, reason] of [
      [server.url('', 'no_database'), 'does not exist'],
      [server.url().replace(/\/\/\w+/, '//bench_reader'), 'permission denied'],
    ]) {
      const { code, stdout, stderr } = await runHere(['bench', '--url', url as string])
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(`${reason}`)])
      expect(stderr).toMatch(/^highkiq: .*: check the URL, and the rights of the user \(docs\/postgres\.md\)\n$/)
    }
  })
})
