/** `highkiq doctor` on real stores: what it finds, what it advises, and its exit code. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { Highkiq } from 'highkiq'
import { describe, expect } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { recorder, until } from '../engine/bench.ts'
import { contents } from '../redis/census.ts'
import { leastRights } from '../redis/least-rights.ts'
import { emptyServer, type RedisServer, type ServerOptions, startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { restoreVersion01 } from '../redis/version-01.ts'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

interface Finding {
  check: string
  severity: string
  text: string
  advice?: string
}

interface Diagnosis {
  status: string
  code: number | null
  /** The findings that are not ok. */
  found: Finding[]
  all: Finding[]
}

async function diagnose(url: string): Promise<Diagnosis> {
  const { code, stdout, stderr } = await runHere(['doctor', '--url', url, '--json'])
  expect(stderr).toBe('')
  const { status, findings } = JSON.parse(stdout) as { status: string; findings: Finding[] }
  return { status, code, all: findings, found: findings.filter(({ severity }) => severity !== 'ok') }
}

const push = (url: string, queue = 'default') => runHere(['enqueue', 'HardJob', '-q', queue, '--url', url])

/** Late jobs without a worker, with a worker that takes none of them, and none. */
async function late(url: string): Promise<void> {
  const hq = new Highkiq({ url, logger: recorder() })
  try {
    const [minuteAgo, soon] = [Date.now() / 1000 - 60, Date.now() / 1000 + 3600]
    const add = (score: number) => hq.scheduled.schedule(score, { class: 'Later', args: [], queue: 'mail' })
    await add(soon)
    await add(Date.now() / 1000 - 1)
    const due = async () => (await diagnose(url)).all.filter(({ check }) => check === 'due')
    expect(await due()).toMatchObject([{ severity: 'ok', text: 'no scheduled job or retry is late by 30 s' }])
    await add(minuteAgo)
    await hq.retries.schedule(minuteAgo, { class: 'Later', args: [] })
    expect(await due()).toMatchObject([
      {
        severity: 'error',
        text: expect.stringMatching(/^1 scheduled job has been due for 1 min.*: no worker is running$/),
        advice: expect.stringMatching(/^Start a worker, which moves them: highkiq work .*-q mail/),
      },
      { severity: 'error', text: expect.stringMatching(/^1 retry has been due for /) },
    ])
    // A process of Sidekiq that is listed, and moves nothing.
    const process = {
      identity: 'other:1:aa',
      info: '{}',
      concurrency: 1,
      busy: 0,
      beat: Date.now(),
      quiet: false,
      rss: 1,
    }
    await hq.store.workers.heartbeat(process, 60)
    expect(await due()).toMatchObject([
      { severity: 'warning', advice: expect.stringContaining('logs of the workers') },
      { severity: 'warning' },
    ])
    await hq.store.workers.removeProcess(process.identity)
    const worker = hq.worker({ queues: ['other'] })
    await worker.start()
    await until(async () => (await hq.retries.size()) === 0 && (await hq.scheduled.size()) === 1)
    await worker.stop()
    expect(await due()).toMatchObject([{ severity: 'ok' }])
  } finally {
    await hq.close()
  }
}

describe('on SQLite', () => {
  test('jobs that are due without a worker are an error, and with one a warning', ({ folder }) =>
    late(`sqlite:${folder.at('jobs.db')}`))

  test('a store whose jobs can run has exit code 0, and each check says what it looked at', async ({ folder }) => {
    const url = `sqlite:${folder.at('jobs.db')}`
    await push(url)
    await runHere(['cancel', ...(await jidsIn(url)), '--url', url])
    const { status, code, found, all } = await diagnose(url)
    expect(found).toEqual([])
    expect([status, code]).toEqual(['ok', 0])
    expect(all.map(({ check }) => check)).toEqual(
      'store file disk log workers versions clocks queues paused growth due orphaned tasks ordered batches locks'.split(
        ' ',
      ),
    )
  })

  test('jobs of a paused queue are a warning with exit code 1, and jobs without a worker an error with 2', async ({
    folder,
  }) => {
    const url = `sqlite:${folder.at('jobs.db')}`
    await push(url, 'mail')
    const unserved = await diagnose(url)
    expect(unserved.found).toMatchObject([
      { check: 'queues', severity: 'error', text: expect.stringMatching(/ mail,.*1 job/) },
    ])
    expect(unserved.found[0]?.advice).toContain(`highkiq work --url ${url} -q mail`)
    expect(unserved.code).toBe(2)
    await runHere(['pause', 'mail', '--url', url])
    const paused = await diagnose(url)
    expect(paused.found).toMatchObject([
      { check: 'paused', severity: 'warning', text: expect.stringContaining('mail') },
    ])
    expect(paused.code).toBe(1)
    const { stdout } = await runHere(['doctor', '--url', url])
    expect(stdout).toMatch(/^warning {2}paused: .*\n {9}To resume it: highkiq resume mail/m)
    expect(stdout).toMatch(/0 errors, 1 warning\n$/)
  })

  test('the doctor finds tasks, ordered queues, batches and locks whose jobs no worker runs', async ({ folder }) => {
    const url = `sqlite:${folder.at('jobs.db')}`
    const hq = new Highkiq({ url, clock: { now: () => Date.now() - 2 * 3_600_000 } })
    const Row = hq.job('Row', { unique: true }, (_ctx, _n: number) => {})
    const task = await hq.tasks.create(
      hq.job('Import', (_ctx, _n: number) => {}),
      [[1]],
      { name: 'Prices' },
    )
    await hq.ordered('Sync', () => {}).performAsync({ id: 'a', payload: 1 })
    const jid = String(await Row.set({ queue: 'other' }).performAsync(1))
    const bid = await hq.batch({}, () => Row.set({ queue: 'other', unique: false }).performAsync(2))
    // Another program runs these two jobs, which knows neither locks nor batches.
    for (const text of await hq.store.jobs.peek('other', 0, 10)) {
      await hq.store.search.pull('other', [{ text, to: null }], hq.now())
    }
    await hq.close()
    const { found } = await diagnose(url)
    expect(found.map(({ check }) => check)).toEqual(['queues', 'tasks', 'ordered', 'batches', 'locks'])
    const [, still, ordered, batch, lock] = found
    expect(still).toMatchObject({ severity: 'warning', text: `task ${task.id} (Prices) has made no progress for 2 h` })
    expect(ordered).toMatchObject({ severity: 'error', text: expect.stringContaining('ordered queue Sync') })
    expect(batch).toMatchObject({
      severity: 'warning',
      text: expect.stringContaining(`batch ${bid} has made no progress`),
    })
    expect(lock).toMatchObject({ text: expect.stringContaining(jid), advice: expect.stringContaining('locks release') })
  })

  test('the doctor says how to migrate a file of version 0.1, and does not change it', async ({ folder }) => {
    folder.write({ 'old.db': gunzipSync(readFileSync(new URL('../sqlite/fixtures/0.1.db.gz', import.meta.url))) })
    const { code, found, all } = await diagnose(`sqlite:${folder.at('old.db')}`)
    expect(found).toEqual([
      {
        check: 'schema',
        severity: 'warning',
        code: 'sqlite-of-0.1',
        params: { path: expect.stringMatching(/old\.db$/), version: 12, needed: expect.any(Number) },
        text: expect.stringMatching(
          /old\.db was written by Highkiq 0\.1 \(schema 12, this version needs \d+\), so its jobs/,
        ),
        advice: expect.stringContaining('copy the file'),
      },
    ])
    expect(code).toBe(1)
    expect(all.map(({ check }) => check)).toEqual(['file', 'schema', 'disk', 'log'])
    const driver = await openDriver(folder.at('old.db'))
    expect(driver.prepare('PRAGMA user_version').get()).toEqual({ user_version: 12 })
    driver.close()
  })

  test('with more locks than it searches for, the doctor says how many it has searched', async ({ folder }) => {
    const url = `sqlite:${folder.at('jobs.db')}`
    const hq = new Highkiq({ url, logger: recorder() })
    const Once = hq.job('Once', { unique: true }, (_ctx, _n: number) => {})
    const locks = async () => (await diagnose(url)).all.filter(({ check }) => check === 'locks')
    await Once.performBulk(Array.from({ length: 20 }, (_, n) => [n]))
    expect(await locks()).toMatchObject([{ severity: 'ok', text: '20 held, none seems lost' }])
    await Once.performAsync(20)
    const text = '21 held, none of the 20 whose jobs were searched for seems lost'
    expect(await locks()).toMatchObject([{ severity: 'ok', text }])
    await hq.close()
  })

  test('the doctor finds jobs that an interrupted move holds', async ({ folder }) => {
    const url = `sqlite:${folder.at('moved.db')}`
    await push(url)
    const store = openStore(url)
    const texts = await store.jobs.peek('default', 0, 1)
    await store.transfers.hold('T', '["id","sqlite:new.db"]', { queue: 'default', offset: 0, texts })
    await store.close()
    const [moves] = (await diagnose(url)).found.filter(({ check }) => check === 'moves')
    expect(moves).toMatchObject({
      severity: 'warning',
      text: 'highkiq move holds 1 job for another store; it runs when the move continues',
      advice: expect.stringMatching(/highkiq move --from .*moved\.db --to sqlite:new\.db/),
    })
  })

  test('a file that does not exist, and a file that is no database, are errors of the store', async ({ folder }) => {
    folder.write({ 'bad.db': 'no database '.repeat(100) })
    expect(await diagnose(`sqlite:${folder.at('no.db')}`)).toMatchObject({
      code: 2,
      found: [{ check: 'store', text: expect.stringContaining('does not exist') }],
    })
    expect(await diagnose(`sqlite:${folder.at('bad.db')}`)).toMatchObject({
      code: 2,
      found: [{ check: 'store', text: expect.stringContaining('not a database') }],
    })
  })

  test('the jobs of a killed worker are orphaned until a worker runs', { timeout: 180_000 }, async ({ folder }) => {
    folder.write({
      'jobs.mjs': `import { Highkiq } from 'highkiq'
        export const hq = new Highkiq({ url: ${JSON.stringify(`sqlite:${folder.at('jobs.db')}`)} })
        hq.job('HardJob', () => { console.error('begun'); return new Promise(() => {}) })`,
    })
    const url = `sqlite:${folder.at('jobs.db')}`
    await push(url)
    const worker = folder.start(['work', '-r', 'jobs.mjs', '--lease-seconds', '1'])
    await worker.waitFor(/begun/)
    worker.kill('SIGKILL')
    await worker.ended
    const orphans = async () => (await diagnose(url)).found.find(({ check }) => check === 'orphaned')
    await until(orphans)
    const { stdout } = await runHere(['stats', '--url', url])
    expect(stdout).toMatch(/^1 job belongs to 1 worker that died: a running worker puts them back$/m)
    const silent = (await diagnose(url)).found.find(({ check }) => check === 'workers')
    expect(silent?.text).toMatch(/is silent: its last heartbeat was .* ago$/)
    expect(await orphans()).toMatchObject({
      severity: 'error',
      text: expect.stringMatching(/^1 job belongs to 1 worker/),
    })
  })

  const canMount = process.getuid?.() === 0 && process.platform === 'linux'
  test.runIf(canMount)(
    'a full disk and a read-only disk are errors of the disk and of the store',
    async ({ folder }) => {
      const disk = folder.at('disk')
      mkdirSync(disk)
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk])
      // Other processes, because a driver in this one may keep the file open, and then the disk can't be made read-only.
      const examined = async (...args: string[]) => {
        const { code, stdout } = await folder.run(['doctor', '--json', ...args])
        expect(code).toBe(2)
        return (JSON.parse(stdout) as { findings: Finding[] }).findings
      }
      try {
        const url = ['--url', `sqlite:${disk}/jobs.db`]
        await folder.run(['enqueue', 'HardJob', ...url])
        expect(() => writeFileSync(`${disk}/ballast`, Buffer.alloc(4_000_000))).toThrow(/ENOSPC/)
        const free = { check: 'disk', severity: 'error', text: '0 MB of the disk are free' }
        expect(await examined(...url)).toContainEqual(expect.objectContaining(free))
        execFileSync('mount', ['-o', 'remount,ro', disk])
        const readOnly = { severity: 'error', text: expect.stringContaining('read-only') }
        expect(await examined(...url)).toEqual(
          expect.arrayContaining([
            expect.objectContaining({ check: 'file', ...readOnly }),
            expect.objectContaining({ check: 'store', ...readOnly }),
          ]),
        )
      } finally {
        execFileSync('umount', ['-l', disk])
      }
    },
  )
})

onRedis('on Redis', () => {
  test('jobs that are due without a worker are an error, and with one a warning', async () =>
    late((await emptyServer()).url()))

  async function server(use: (server: RedisServer) => Promise<void>, options: ServerOptions = {}) {
    const started = await startServer(options)
    try {
      await use(started)
    } finally {
      await started.remove()
    }
  }

  test('the doctor has no finding for a server with appendonly and noeviction, also with the rights in the docs', () =>
    server(
      async (redis) => {
        expect(await diagnose(redis.url())).toMatchObject({ status: 'ok', code: 0, found: [] })
        await redis.ask('ACL', 'SETUSER', 'app', 'on', '>secret', ...leastRights)
        const url = `${redis.url().replace('//', '//app:secret@')}?namespace=app`
        expect(await diagnose(url)).toMatchObject({ status: 'ok', code: 0, found: [] })
      },
      { appendonly: true },
    ))

  test('the doctor reports a server that evicts keys, keeps nothing on disk and is full', () =>
    server(
      async (redis) => {
        await redis.ask('CONFIG', 'SET', 'maxmemory', '100mb')
        await redis.ask('SETRANGE', 'ballast', '83000000', 'x')
        const { code, found } = await diagnose(redis.url())
        expect(found).toMatchObject([
          {
            check: 'eviction',
            severity: 'error',
            advice: expect.stringContaining('CONFIG SET maxmemory-policy noeviction'),
          },
          { check: 'memory', severity: 'warning' },
          {
            check: 'persistence',
            severity: 'warning',
            text: expect.stringContaining('a restart of Redis loses all jobs'),
          },
        ])
        expect(code).toBe(2)
      },
      { 'maxmemory-policy': 'allkeys-lru' },
    ))

  test('the doctor reports a server with appendfsync no', () =>
    server(
      async (redis) => {
        const { code, found } = await diagnose(redis.url())
        expect(found).toMatchObject([
          {
            check: 'persistence',
            severity: 'warning',
            text: expect.stringContaining('appendfsync is no'),
            advice: expect.stringContaining('appendfsync everysec'),
          },
        ])
        expect(code).toBe(1)
      },
      { appendonly: true, appendfsync: 'no' },
    ))

  test('the doctor names the rights that the user lacks, and runs none of their commands', () =>
    server(async (redis) => {
      const as = (rights: string[]) => redis.ask('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', ...rights)
      const url = `${redis.url().replace('//', '//app:secret@')}?namespace=app`
      await as(['~app:*', '+@all', '-blmove', '-zadd'])
      const rights = async () => (await diagnose(url)).found.find(({ check }) => check === 'rights')
      expect(await rights()).toMatchObject({ severity: 'error', text: 'the user may not run ZADD, BLMOVE' })
      await as(['~other:*', '+@all'])
      expect(await rights()).toMatchObject({ advice: expect.stringContaining('~app:*') })
      // The commands that were tried in order to learn the rights have changed nothing.
      expect(await redis.ask('KEYS', 'app:hk:doctor')).toEqual([])
    }))

  test('the doctor says how to migrate a database of version 0.1, and does not change it', () =>
    server(async (server) => {
      const redis = await restoreVersion01(server.url())
      const before = await contents(redis)
      const { code, found } = await diagnose(server.url())
      expect(found).toContainEqual({
        check: 'schema',
        severity: 'warning',
        code: 'redis-of-0.1',
        params: { url: server.url() },
        text: expect.stringContaining('has keys of Highkiq 0.1, so its jobs were not examined'),
        advice: expect.stringContaining('Stop the processes of version 0.1'),
      })
      expect(found.map(({ check }) => check)).toEqual(['schema', 'persistence'])
      expect(code).toBe(1)
      expect(await contents(redis)).toEqual(before)
    }))

  test("a key that can't be read is an error of the store, and the other checks are shown", () =>
    server(
      async (redis) => {
        await push(redis.url())
        await redis.ask('SET', 'hk:leases', 'another program')
        const { code, found, all } = await diagnose(redis.url())
        expect(found).toMatchObject([{ check: 'store', severity: 'error', text: expect.stringContaining('hk:leases') }])
        expect(code).toBe(2)
        expect(all.map(({ check }) => check)).toContain('eviction')
      },
      { appendonly: true },
    ))

  test('a replica, and jobs that other programs have left, are found', () =>
    server((master) =>
      server(
        async (redis) => {
          await redis.ask('RPUSH', 'queue:default:1:inprogress', '{}')
          await redis.ask('RPUSH', 'queue:sq|dead:1:aa|default', '{}')
          await redis.ask('RPUSH', 'queue:sq|alive:1:bb|default', '{}')
          await redis.ask('HSET', 'alive:1:bb', 'busy', '0')
          await redis.ask('RPUSH', 'queue:default:2:inprogress', '{}')
          const leftovers = (await diagnose(redis.url())).found
          const byProgram = leftovers.map(({ check, text, advice }) => [check, text, advice])
          expect(byProgram).toHaveLength(2)
          expect(byProgram).toContainEqual([
            'leftovers',
            expect.stringMatching(/^go-workers has jobs in 2 keys, such as queue:default:\d:inprogress, /),
            'If go-workers does not run any more, move them: highkiq adopt go-workers',
          ])
          expect(byProgram).toContainEqual([
            'leftovers',
            'super_fetch of Sidekiq Pro has jobs in queue:sq|dead:1:aa|default, which Highkiq does not read',
            expect.stringMatching(/push these jobs again and delete the keys$/),
          ])
          await redis.ask('REPLICAOF', '127.0.0.1', String(master.port))
          expect((await diagnose(redis.url())).found).toContainEqual(
            expect.objectContaining({ check: 'replication', severity: 'error' }),
          )
        },
        { appendonly: true },
      ),
    ))

  test("a server that can't be reached is the only finding", () =>
    server(async (redis) => {
      const url = redis.url()
      await redis.kill()
      expect(await diagnose(url)).toMatchObject({ code: 2, found: [{ check: 'store', severity: 'error' }] })
    }))
})

async function jidsIn(url: string): Promise<string[]> {
  const hq = new Highkiq({ url })
  try {
    const jids: string[] = []
    for await (const queue of hq.queues()) for await (const { jid } of queue) jids.push(jid)
    return jids
  } finally {
    await hq.close()
  }
}
