import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { readConfig } from '#dist/cli/config/file.js'
import { test } from '../cli/command.ts'
import { runHere } from '../cli/in-process.ts'
import { receiver } from './receivers.ts'

const page = readFileSync(new URL('../../docs/alerts.md', import.meta.url), 'utf8')

test('the file that docs/alerts.md shows is read', ({ folder }) => {
  const [, yaml = ''] = /```yaml\n(.*?)```/s.exec(page) ?? []
  folder.write({ 'highkiq.yml': yaml })
  const env = { SLACK_WEBHOOK: 'https://hooks.slack.example/x', SMTP_URL: 'smtp://mail.shop.example' }
  const { settings } = readConfig(folder.at('highkiq.yml'), undefined, env)
  expect(settings.alerts).toEqual({
    app: 'shop',
    timeZone: 'Europe/Berlin',
    quietHours: { from: '22:00', to: '07:00' },
    thresholds: { 'queue-grows': { latency: 600 } },
    to: [
      { slack: env.SLACK_WEBHOOK },
      { email: 'ops@shop.example', from: 'jobs@shop.example', smtp: 'smtp://mail.shop.example' },
    ],
  })
})

test('a wrong value in the file is named with its line', async ({ folder }) => {
  folder.write({ 'highkiq.yml': 'concurrency: 5\nalerts:\n  to: []\n' })
  const { code, stderr } = await runHere([
    'alerts',
    'test',
    '-C',
    folder.at('highkiq.yml'),
    '--url',
    `sqlite:${folder.at('x.db')}`,
  ])
  expect(stderr).toMatch(/highkiq\.yml:3: alerts: to must name 1 to 20 targets \(got 0\)/)
  expect(code).toBe(2)
})

test('highkiq alerts lists what needs attention, and highkiq alerts test sends to the targets of the file', async ({
  folder,
}) => {
  const url = `sqlite:${folder.at('jobs.db')}`
  const { url: webhook, got } = await receiver([200, 404])
  await runHere(['enqueue', 'HardJob', '--url', url])
  const listed = await runHere(['alerts', '--url', url])
  expect(listed.stdout).toMatch(/^ALERT +WHAT .*\nNo worker is running +1 job waits\. Start one: highkiq work/)
  const json = await runHere(['alerts', '--url', url, '--json'])
  expect(JSON.parse(json.stdout)).toEqual([
    {
      kind: 'no-process',
      level: 'error',
      title: 'No worker is running',
      text: '1 job waits. Start one: highkiq work -r ./jobs.ts',
      url: null,
      since: null,
      details: { waiting: 1 },
    },
  ])
  folder.write({ 'highkiq.yml': `alerts:\n  to:\n    - webhook: ${webhook}\n      headers:\n        x_own: "1"\n` })
  const args = ['alerts', 'test', '-C', folder.at('highkiq.yml'), '--url', url]
  expect(await runHere(args)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nwebhook 127\.0\.0\.1:\d+ +sent in /),
  })
  expect(got.all[0]?.headers).toMatchObject({ x_own: '1' })
  expect(await runHere(args)).toMatchObject({ code: 1, stdout: expect.stringContaining('it answered 404') })
  expect(await runHere(['alerts', 'test', '--url', url])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is no target: give new Highkiq the option alerts'),
  })
})

test('highkiq work sends to the targets of its file', async ({ folder }) => {
  const { url: webhook, got } = await receiver()
  folder.write({
    'highkiq.yml': `alerts:\n  every: 1\n  after: 0\n  to:\n    - webhook: ${webhook}\n`,
    'jobs.mjs':
      "import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq()\nhq.job('HardJob', { queue: 'slow' }, async () => {})\n",
  })
  await folder.run(['enqueue', 'HardJob', '-r', 'jobs.mjs'])
  folder.start(['work', '-r', 'jobs.mjs', '-C', 'highkiq.yml', '-q', 'default'])
  const [{ body } = { body: undefined }] = await got.atLeast(1)
  expect(body?.begun).toMatchObject([{ kind: 'queue-unserved', details: { queue: 'slow', size: 1 } }])
})

test('highkiq web sends alerts, so that the end of the last worker is noticed', async ({ folder }) => {
  const { url: webhook, got } = await receiver()
  const alerts = { to: [{ webhook }], after: 0, every: 1 }
  folder.write({
    'jobs.mjs': `import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq({ alerts: ${JSON.stringify(alerts)} })\nhq.job('HardJob', async () => {})\n`,
  })
  await folder.run(['enqueue', 'HardJob', '-r', 'jobs.mjs'])
  folder.start(['web', '-r', 'jobs.mjs', '-p', '0'])
  const [{ body } = { body: undefined }] = await got.atLeast(1)
  expect(body?.begun).toMatchObject([{ kind: 'no-process', details: { waiting: 1 } }])
})
