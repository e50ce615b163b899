import { Highkiq } from 'highkiq'
import { describe, expect } from 'vitest'
import { type Folder, test } from './command.ts'
import { runHere } from './in-process.ts'

const JOBS = "import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq()\nhq.job('Import', async () => {})\n"
const timeout = 60_000

interface Entry {
  jid: string
  class: string
  args: unknown[]
  errorClass?: string
}

/** The store that commands in this folder work with. */
async function withStore<T>(folder: Folder, use: (hq: Highkiq) => Promise<T>): Promise<T> {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  try {
    return await use(hq)
  } finally {
    await hq.close()
  }
}

function failed(n: number): { to: 'retry'; text: string; score: number } {
  const error = { error_class: 'TypeError', error_message: 'no price', retry_count: 0, failed_at: 1 }
  const job = { class: 'Import', args: [n], queue: 'default', jid: `jid-${n}`, retry: 3, ...error }
  return { to: 'retry', text: JSON.stringify(job), score: 4e9 + n }
}

describe('retries, scheduled, dead', () => {
  test('jobs are listed, killed, retried and deleted, by jid or all together', { timeout }, async ({ folder }) => {
    await withStore(folder, (hq) => hq.store.jobs.push([0, 1, 2].map(failed), 1))
    const { stdout } = await folder.run(['retries'])
    expect(stdout).toMatch(/^JID +NEXT RETRY +FAILURES +QUEUE +JOB +ERROR +ARGUMENTS\n/)
    expect(stdout).toMatch(/\njid-0 .* 1 +default +Import +TypeError: no price +0\n/)
    const [first, ...more] = await folder.json<Entry[]>('retries', '--limit', '1')
    expect([first, more]).toMatchObject([{ jid: 'jid-0', class: 'Import', args: [0], errorClass: 'TypeError' }, []])
    for (const args of [[], ['--matching', 'default']]) {
      expect((await folder.run(['retries', '--limit', '2', ...args])).stdout).toMatch(
        /\n2 shown; --limit shows more\n$/,
      )
      expect((await folder.run(['retries', '--limit', '3', ...args])).stdout).not.toContain('shown')
    }
    expect(await folder.json('retries', '--matching', '"args":[1]')).toMatchObject([{ jid: 'jid-1' }])

    const killed = await folder.run(['retries', 'kill', 'jid-1', 'jid-7'])
    expect(killed).toMatchObject({ code: 1, stdout: '1 retry job moved to the dead set\n' })
    expect(killed.stderr).toContain('there is no job jid-7 in this set')
    const asked = await folder.run(['retries', 'retry', '--all'])
    expect(asked).toMatchObject({ code: 2, stdout: '' })
    expect(asked.stderr).toContain('move all 2 retry jobs to their queues? Confirm with --yes')
    expect(await folder.json('retries', 'retry', '--all', '--yes')).toEqual({ done: 2, refused: 0 })
    expect(await folder.run(['dead', 'delete', '--matching', 'price', '--yes'])).toMatchObject({
      code: 0,
      stdout: '1 dead job deleted\n',
    })
    expect(await withStore(folder, (hq) => hq.stats())).toMatchObject({ retries: 0, dead: 0, enqueued: 2 })
    expect((await folder.run(['retries'])).stdout).toBe('no retry jobs\n')
  })

  test('scheduled jobs can be moved to their queues', { timeout }, async ({ folder }) => {
    const jid = await withStore(folder, (hq) => hq.push({ class: 'Later', args: [], at: 4e9 }))
    expect(await folder.json('scheduled')).toMatchObject([{ jid, class: 'Later' }])
    expect(await folder.run(['scheduled', 'enqueue', String(jid)])).toMatchObject({ code: 0 })
    expect(await withStore(folder, (hq) => hq.stats())).toMatchObject({ scheduled: 0, enqueued: 1 })
  })

  test('finished jobs are listed with their results, run again and deleted', { timeout }, async ({ folder }) => {
    const kept = (n: number) => ({
      to: 'finished' as const,
      text: JSON.stringify({
        class: 'Import',
        args: [n],
        queue: 'low',
        jid: `jid-${n}`,
        hk_started: 1,
        hk_result: { n },
      }),
      score: 1e9 + n,
    })
    await withStore(folder, (hq) => hq.store.jobs.push([1, 2, 3].map(kept), 1))
    const { stdout } = await folder.run(['finished'])
    expect(stdout).toMatch(/^JID +FINISHED +QUEUE +JOB +RESULT +ARGUMENTS\njid-3 +.*low +Import +\{"n":3\} +3\n/)
    expect(await folder.run(['finished', 'enqueue', 'jid-1'])).toMatchObject({ code: 0 })
    expect(await folder.run(['finished', 'delete', 'jid-2'])).toMatchObject({ stdout: '1 finished job deleted\n' })
    const left = await withStore(folder, async (hq) => [
      await hq.finished.size(),
      await hq.store.jobs.peek('low', 0, 9),
    ])
    expect(left).toEqual([1, [expect.not.stringContaining('hk_')]])
  })

  test.for<[what: string, args: string[], says: RegExp]>([
    ['neither a jid nor --all', ['retries', 'retry'], /give jids, --all or --matching/],
    [
      'an empty pattern',
      ['dead', 'delete', '--matching', '', '--yes'],
      /must not be empty, because that means all jobs/,
    ],
    [
      'a limit for an action',
      ['dead', 'delete', '--all', '--limit', '5', '--yes'],
      /--limit is an option of highkiq dead, and "highkiq dead delete" does not have it/,
    ],
    ['both', ['retries', 'retry', 'x', '--all'], /give jids, --all or --matching/],
    [
      'an unknown subcommand',
      ['dead', 'kill', 'x'],
      /there is no command "highkiq dead kill" \(commands: retry, delete\)/,
    ],
  ])('%s is wrong usage', { timeout }, async ([_, args, says], { folder }) => {
    await withStore(folder, (hq) => hq.stats())
    const { code, stderr } = await folder.run(args)
    expect(stderr).toMatch(says)
    expect(code).toBe(2)
  })
})

test('a worker is quieted and stopped by its identity; an unknown identity lists the known ones', {
  timeout,
}, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const worker = folder.start(['work', '-r', 'jobs.mjs'])
  await worker.waitFor(/is working/)
  const [{ identity }] = (await folder.json<{ identity: string }[]>('processes')) as [{ identity: string }]
  const unknown = await folder.run(['stop', 'nobody'])
  expect(unknown).toMatchObject({ code: 1 })
  expect(unknown.stderr).toContain(identity)
  expect(await folder.run(['concurrency', identity, '20'])).toMatchObject({
    code: 0,
    stdout: `${identity} runs 20 jobs at the same time from its next heartbeat on\n`,
  })
  const noCapsule = await folder.run(['concurrency', identity, '20', '--capsule', 'mail'])
  expect(noCapsule).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${identity}: there is no capsule "mail"`),
  })
  expect(await folder.run(['concurrency', identity, '0'])).toMatchObject({ code: 2 })
  expect(await folder.run(['quiet', identity])).toMatchObject({ code: 0 })
  expect(await folder.run(['stop', identity])).toMatchObject({ code: 0 })
  // It hears of each with a beat of its own, ten seconds apart.
  expect(await worker.ended).toMatchObject({ code: 0 })
})

test('the numbers of a limit are set and reset, also of a queue without a limit', { timeout }, async ({ folder }) => {
  await folder.run(['enqueue', 'J'])
  const run = (...args: string[]) => runHere([...args, '--url', `sqlite:${folder.at('highkiq.db')}`])
  const rate = ['--concurrency', '5', '--rate', '100', '--per', '1m']
  expect(await run('limits', 'set', 'queue:mail', ...rate)).toMatchObject({
    code: 0,
    stdout: 'queue:mail is set; to reset: highkiq limits reset queue:mail\n',
  })
  expect((await run('limits')).stdout).toMatch(/^queue mail +0 +5 +100 in 1 min +0 +now +set$/m)
  const more = await run('limits', 'set', 'queue:mail', '--burst', '10', '--json')
  expect(JSON.parse(more.stdout)).toEqual({
    limit: 'queue:mail',
    set: { concurrency: 5, rate: 100, per: 60, burst: 10 },
  })
  const less = await run('limits', 'set', 'queue:mail', '--concurrency', 'code', '--json')
  expect(JSON.parse(less.stdout).set).toEqual({ concurrency: null, rate: 100, per: 60, burst: 10 })
  expect(await run('limits', 'set', 'mail', '--burst', '10')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('queue:NAME'),
  })
  expect(await run('limits', 'set', 'app')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs a number'),
  })
  expect((await run('limits', 'reset', 'queue:mail')).stdout).toBe('queue:mail has the numbers of the code again\n')
  expect((await run('limits', 'reset', 'queue:mail')).stdout).toBe('queue:mail was not set\n')
  expect((await run('limits')).stdout).toBe('no limited job runs or waits now, and no numbers were set\n')
})

test('limits lists the limits in use', { timeout }, async ({ folder }) => {
  await withStore(folder, async ({ store }) => {
    await store.workers.join('A', { queues: ['q'], seconds: 600, host: 'here\n1\n1' })
    const api = { name: 'shared:api:ann', max: 5, count: 90, per: 60_000, burst: 1, window: 'smooth' } as const
    await store.limits.acquire('A', [{ ticket: '1', limits: [api] }])
  })
  const { stdout } = await folder.run(['limits'])
  expect(stdout).toMatch(/^LIMIT +KEY +USED +MAX +RATE +WAITING +NEXT START\nlimit api +ann +1 +5 +90 in 1 min +0 +/)
  const state = { kind: 'shared', name: 'api', key: 'ann', concurrency: 5, rate: 90, per: 60, used: 1 }
  expect(await folder.json('limits')).toMatchObject([state])
})
