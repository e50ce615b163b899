import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { done, job, NOW, toQueue } from '../conformance/bench.ts'
import { until } from '../engine/bench.ts'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

test('a queue is paused and resumed, and the table of queues shows it', { timeout: 180_000 }, async ({ folder }) => {
  await folder.run(['enqueue', 'J'])
  await folder.run(['enqueue', 'J', '--queue', 'low'])
  expect(await folder.run(['pause', 'low'])).toMatchObject({
    code: 0,
    stdout: 'low is paused; to resume: highkiq resume low\n',
  })
  const { stdout } = await folder.run(['queues'])
  expect(stdout).toMatch(/^low +1 .*paused$/m)
  expect(stdout).not.toMatch(/^default .*paused/m)
  expect(await folder.json('queues')).toMatchObject([
    { name: 'default', paused: false },
    { name: 'low', paused: true },
  ])
  expect(await folder.json('resume', 'low')).toEqual({ queue: 'low', paused: false })
  expect((await folder.run(['queues'])).stdout).not.toContain('paused')
  const { stdout: unknown } = await folder.run(['pause', 'lwo'])
  expect(unknown).toMatch(/^lwo is paused; .*\nno worker serves lwo, and it has no jobs: check its name/)
  expect((await folder.run(['queues'])).stdout).toMatch(/^lwo +0 .*paused$/m)
  // A Ruby program may have made a queue of such a name; none has no name.
  expect(await folder.run(['pause', 'a b'])).toMatchObject({ code: 0 })
  expect(await folder.run(['pause', ''])).toMatchObject({ code: 2, stderr: expect.stringContaining('queue name') })
})

test('queues shows the size of a queue beside its maxLength, which running workers know', async ({ folder }) => {
  await folder.run(['enqueue', 'J'])
  await folder.run(['enqueue', 'J', '--queue', 'low'])
  const store = openStore(`sqlite:${folder.at('highkiq.db')}`)
  const info = JSON.stringify({ hostname: 'a', queues: ['low'], highkiq: '0', max_lengths: { low: 10_000 } })
  const about = { concurrency: 1, busy: 0, beat: Date.now(), quiet: false, rss: 1 }
  await store.workers.heartbeat({ identity: 'a:1:abc', info, ...about }, 60)
  await store.close()
  const { stdout } = await folder.run(['queues'])
  expect(stdout).toMatch(/^default +1 +0 /m)
  expect(stdout).toMatch(/^low +1 of 10,000 +0 /m)
  expect(await folder.json('queues')).toMatchObject([{ maxLength: null }, { maxLength: 10_000 }])
})

test('queues says by how much a queue grows, and when it will be empty', { timeout: 180_000 }, async ({ folder }) => {
  const url = folder.at('highkiq.db')
  await folder.run(['enqueue', 'J'])
  const watching = folder.start(['queues', '--watch'])
  await until(() => /^default +1 /m.test(watching.stdout))
  await folder.run(['enqueue', 'J'])
  await until(() => /^default +2 .*growing by \d+ a minute$/m.test(watching.stdout))
  expect(await folder.json('queues')).toMatchObject([{ size: 2, trend: { perMinute: 0, emptyIn: null } }])

  const shrinking = folder.start(['queues', '--watch'])
  await until(() => /^default +2 /m.test(shrinking.stdout))
  const hq = new Highkiq({ url: `sqlite:${url}` })
  for await (const job of hq.queue('default')) {
    await job.delete()
    break
  }
  await hq.close()
  await until(() => /^default +1 .*empty in about \d+ s$/m.test(shrinking.stdout))
  watching.kill('SIGINT')
  shrinking.kill('SIGINT')
})

test('stats says that no worker is running while jobs wait, and names the command that starts one', {
  timeout: 180_000,
}, async ({ folder }) => {
  const url = ['--url', `sqlite:${folder.at('jobs.db')}`]
  const run = (...args: string[]) => runHere([...args, ...url])
  await run('enqueue', 'J', '--in', '1h')
  expect((await run('stats')).stdout).toMatch(
    /^no worker is running, and 1 job waits: start one with `highkiq work --url sqlite:\S+jobs\.db`$/m,
  )
  await run('enqueue', 'J')
  await run('enqueue', 'J', '--queue', 'low')
  const { code, stdout } = await run('stats')
  expect(stdout).toMatch(/and 3 jobs wait: start one with `highkiq work --url \S+ -q default -q low`$/m)
  expect(code).toBe(0)
  expect(JSON.parse((await run('stats', '--json')).stdout)).toMatchObject({ unservedQueues: ['default', 'low'] })

  const idle = await runHere(['stats', '--url', 'sqlite::memory:'])
  expect(idle.stdout).not.toContain('no worker')
})

test('rename moves jobs until none of the queue runs, and says what stays', { timeout: 180_000 }, async ({
  folder,
}) => {
  const store = openStore(`sqlite:${folder.at('highkiq.db')}`)
  await store.jobs.push([toQueue('q', job(1)), toQueue('q', job(2)), toQueue('q', job('c', { hk_lock: 'l' }))], NOW)
  await store.jobs.push([{ to: 'dead', text: job('b', { bid: 'b' }), score: 1 }], NOW)
  await store.workers.join('h:1:1', { queues: ['q'], seconds: 60, host: 'here' })
  const step = { now: NOW, started: [], settlements: [], fetch: { queues: ['q'], n: 1 } }
  const { fetched } = await store.workers.settleAndFetch('h:1:1', step)
  await store.jobs.pauseQueue('q', true)
  const renaming = folder.start(['queues', 'rename', 'q', 'new'])
  await renaming.waitFor(/new is paused now, as q is; to resume: highkiq resume new/)
  await renaming.waitFor(/waiting for 1 running job/)
  const settlements = fetched.map((one) => done(one))
  await store.workers.settleAndFetch('h:1:1', { ...step, settlements, fetch: { queues: [], n: 0 } })
  const stays = 'left in q: 1 job of cron entries; resume it, and let a worker serve q until they have run'
  const dead = 'left in the dead set, for q: 1 job of tasks and batches'
  expect(await renaming.ended).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`moved 1 job from q to new\n${stays}\n${dead}\nnot counted: `),
  })
  await store.close()
  expect(await folder.json('queues', 'rename', 'lwo', 'low')).toMatchObject({ moved: 0, left: { running: 0 } })
  expect(await folder.run(['queues', 'rename', 'low', 'p3:low'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('name two queues, without a priority'),
  })
  expect(await folder.run(['queues', 'rename', 'low', 'high', '--watch'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("rename can't be combined with --watch"),
  })
})
