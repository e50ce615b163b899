import { Highkiq } from 'highkiq'
import { expect } from 'vitest'
import { test } from './command.ts'

const timeout = 60_000

const textOf = (n: number, more: object = {}) =>
  JSON.stringify({ class: 'Sync', args: [{ customer: n }], queue: 'default', jid: `jid-${n}`, retry: true, ...more })

test('jobs of all states are found by their arguments, counted, and acted on together', { timeout }, async ({
  folder,
}) => {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const error = { error_class: 'Refused', error_message: 'no such box' }
  await hq.store.jobs.push(
    [
      { to: 'schedule', text: textOf(1), score: 4e9 },
      { to: 'retry', text: textOf(4711, error), score: 4e9 },
      { to: 'dead', text: textOf(3), score: 1e9 },
      { to: 'dead', text: textOf(4, { args: [{ customer: '4711' }], queue: 'low' }), score: 1e9 },
    ],
    1,
  )
  const { stdout } = await folder.run(['jobs', '--where', '*.customer=4711'])
  expect(stdout).toMatch(
    /^STATE +JID +TIME +QUEUE +JOB +ERROR +ARGUMENTS\nretry +jid-4711 .*default +Sync +Refused: no such box/,
  )
  expect(stdout.trim().split('\n')).toHaveLength(3)
  expect(await folder.json('jobs', '--state', 'dead', '--limit', '1', '--queue', 'low')).toMatchObject([
    { state: 'dead', jid: 'jid-4', args: [{ customer: '4711' }] },
  ])
  const counts = await folder.run(['jobs', '--where', '0.customer=4711', '--count'])
  expect(counts.stdout).toMatch(
    /^STATE +JOBS +MATCHING\nretry +1 +1\ndead +2 +1\nrejected +0\nmorgue +0 +0\nscheduled +1 +0\n/,
  )
  expect((await folder.run(['jobs', '--class', 'Nothing'])).stdout).toBe('no jobs match\n')

  const retry = ['jobs', 'retry', '--state', 'retry,dead', '--where', '0.customer=4711']
  const asked = await folder.run(retry)
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringContaining('move 2 jobs to their queues? Confirm with --yes'),
  ])
  expect(await folder.run([...retry, '--yes'])).toMatchObject({ code: 0, stdout: '2 jobs moved to their queues\n' })
  expect(await folder.json('jobs', 'delete', '--state', 'dead', '--from', '2001-01-01', '--yes')).toEqual({
    done: 1,
    refused: 0,
  })
  expect(await hq.stats()).toMatchObject({ scheduled: 1, retries: 0, dead: 0, enqueued: 2 })
  await hq.close()

  const wrong: [args: string[], says: string][] = [
    [
      ['jobs', 'retry', '--yes'],
      'retry applies to jobs of the states retry, dead, rejected, morgue: name some of them (got none)',
    ],
    [['jobs', 'stop'], 'there is no command "highkiq jobs stop" (commands: retry, enqueue, kill, delete, cancel)'],
    [
      ['jobs', 'delete', '--state', 'dead', '--limit', '5', '--yes'],
      '--limit is an option of highkiq jobs, and "highkiq jobs delete" does not have it: leave it out',
    ],
    [['jobs', '--count', 'delete', '--state', 'dead', '--yes'], '--count is an option of highkiq jobs'],
    [['jobs', '--state', 'died'], 'Each must be one of retry, dead'],
    [['jobs', '--where', 'customer'], '--where must be a name and a value, such as 0.customer=4711 (got "customer")'],
    [['jobs', '--where', 'customer=1'], '0.customer, or *.customer for any argument (got "customer")'],
    [['jobs', '--from', 'noon'], 'It must be a time in ISO 8601, or how long ago, such as 2h.'],
  ]
  for (const [args, says] of wrong) {
    const { code, stderr } = await folder.run(args)
    expect([code, stderr], args.join(' ')).toEqual([2, expect.stringContaining(says)])
  }
})

test('refused jobs are named by what could not be done to them, and values keep their spaces', { timeout }, async ({
  folder,
}) => {
  const hq = new Highkiq({ url: `sqlite:${folder.at('highkiq.db')}` })
  const texts = [textOf(1, { args: [' a'] }), textOf(2, { args: ['a'] }), 'no json']
  await hq.store.jobs.push(
    texts.map((text) => ({ to: 'dead', text, score: 1e9 })),
    1,
  )
  const found = await folder.json('jobs', '--where', '0= a')
  expect(found).toMatchObject([{ jid: 'jid-1' }])
  const retried = await folder.run(['jobs', 'retry', '--state', 'dead', '--yes'])
  expect([retried.code, retried.stdout]).toEqual([1, '2 jobs moved to their queues\n'])
  expect(retried.stderr).toContain(
    "1 could not be moved to their queues: an entry of 7 characters that is not a job can't run",
  )
  // A worker that shows a job which has ended.
  const job = { slot: 'a', queue: 'default', text: textOf(3), startedAt: 1 }
  const info = JSON.stringify({ highkiq: 1 })
  const figures = { concurrency: 5, busy: 1, beat: Date.now(), quiet: false, rss: 1 }
  await hq.store.workers.heartbeat({ identity: 'a:1:b', info, ...figures }, 60, [job])
  const cancelled = await folder.run(['jobs', 'cancel', '--state', 'running', '--yes'])
  expect([cancelled.code, cancelled.stdout]).toEqual([1, '0 jobs asked to stop\n'])
  expect(cancelled.stderr).toContain('1 could not be cancelled: job jid-3 does not run or wait there any more')
  await hq.close()
})
