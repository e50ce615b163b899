import { expect, test } from 'vitest'
import { bench } from './bench.ts'

test('a worker warns at its start of the queues that its jobs name and no process serves', async () => {
  const app = bench()
  app.hq.job('Mail', { queue: 'mails', retryQueue: 'later' }, () => {})
  await app.work({ queues: ['critical,3'] })
  expect(app.log.lines.filter(({ level }) => level === 'warn')).toEqual([
    {
      level: 'warn',
      about: { queues: ['mails', 'later'] },
      message:
        'no running process serves the queues mails, later, which jobs of the app use: start a worker with queues: ["critical,3","mails","later"], or with queues: ["*"]',
    },
  ])
})

test('a worker does not warn of queues that it or another process serves, or that no job of its app names', async () => {
  const app = bench()
  app.hq.job('Mail', { queue: 'mails' }, () => {})
  app.hq.job('Report', { queue: 'reports' }, () => {})
  const other = app.another()
  other.hq.job('Mail', { queue: 'mails' }, () => {})
  await other.work({ queues: ['mails'] })
  await app.work({ queues: ['other'], capsules: { slow: { queues: ['reports'] } } })
  await other.work({ queues: ['mails'] })
  expect([...app.log.lines, ...other.log.lines].filter(({ level }) => level === 'warn')).toEqual([])
})
