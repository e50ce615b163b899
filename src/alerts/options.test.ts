import { expect, test } from 'vitest'
import { type AlertOptions, alertPlan } from './options.ts'

const slack = 'https://hooks.slack.example/services/hush'
const mail = { email: 'ops@shop.example', from: 'jobs@shop.example', smtp: 'smtp://ann:hush@mail.example' }

test('targets are named by kind and host, and have the quiet hours of all unless they have their own', () => {
  const night = { from: '22:00', to: '07:00' }
  const own = { from: '00:00', to: '24:00' }
  const plan = alertPlan({
    to: [{ slack }, { webhook: 'http://10.0.0.7:9/x', quietHours: own }, { ...mail, quietHours: false, name: 'mail' }],
    quietHours: night,
  })
  expect(plan.targets.map(({ name, quietHours }) => [name, quietHours])).toEqual([
    ['slack hooks.slack.example', [night]],
    ['webhook 10.0.0.7:9', [own]],
    ['mail', []],
  ])
  expect(plan).toMatchObject({ app: 'highkiq', timeZone: 'UTC', language: 'en', afterMs: 60_000, everyMs: 10_000 })
  expect(JSON.stringify(plan.targets.map(({ id }) => id))).not.toMatch(/hush|10\.0/)
})

test.each<[unknown, string]>([
  [5, 'new Highkiq: alerts: options must be an object (got 5); there are to, app, thresholds, after'],
  [{}, "alerts needs to, a list of { webhook: 'https://…' }, { slack: 'https://…' } or { email, from, smtp:"],
  [{ to: [] }, 'to must name 1 to 20 targets (got 0)'],
  [{ to: { slack } }, "to must be a list of { webhook: 'https://…' }"],
  [{ to: [slack] }, '(got a string)'],
  [{ to: [{ url: slack }] }, 'to[0] must be one of'],
  [{ to: [{ slack, webhook: slack }] }, '(got the options slack, webhook)'],
  [{ to: [{ slack }, { slack }] }, 'to[1] is the same target as one before it: slack hooks.slack.example'],
  [
    { to: [{ slack: 'hooks/hush' }] },
    'to[0]: slack must be an address with https:// or http://; its value is not shown',
  ],
  [{ to: [{ slack: 'ftp://x/hush' }] }, 'slack must be an address with https:// or http://'],
  [{ to: [{ webhook: 'https://ann:hush@x' }] }, 'webhook must have no user and password: put them into headers'],
  [{ to: [{ slack, headers: {} }] }, 'to[0]: there is no option headers; there are slack, name, kinds, quietHours'],
  [{ to: [{ webhook: slack, headers: 'x' }] }, 'headers must be { name: \'value\' } (got "x")'],
  [{ to: [{ webhook: slack, headers: { 'a b': 'hush' } }] }, '"a b" is not a header that can be sent'],
  [
    { to: [{ webhook: slack, headers: { a: 'hu\nsh' } }] },
    '"a" is not a header that can be sent; its value is not shown',
  ],
  [{ to: [{ ...mail, from: undefined }] }, "from must be an address, such as 'jobs@shop.example' (got undefined)"],
  [{ to: [{ ...mail, email: ['a@b', 'x\r\nBcc: y@z'] }] }, 'email must be an address, or a list of 1 to 20 addresses'],
  [{ to: [{ ...mail, smtp: 'mail.example:hush' }] }, "smtp must be 'smtps://user:password@host:465' or 'smtp://host'"],
  [{ to: [{ slack, kinds: ['no-worker'] }] }, "kinds must be a list of 'retries-share-error', 'process-silent'"],
  [{ to: [{ slack }], after: -1 }, 'after must be 0 seconds to 1 day (got -1 seconds)'],
  [{ to: [{ slack }], every: '2d' }, 'every must be 1 seconds to 1 day (got 172800 seconds)'],
  [{ to: [{ slack }], after: 'soon' }, '"soon" is not a time'],
  [{ to: [{ slack }], thresholds: { dead: 5 } }, 'thresholds: there is no alert dead; there are retries-share-error'],
  [{ to: [{ slack }], thresholds: { 'no-process': 5 } }, 'no-process must be false or { waiting: number } (got 5)'],
  [{ to: [{ slack }], thresholds: { 'no-process': { size: 5 } } }, 'there is no option size; there are waiting'],
  [{ to: [{ slack }], thresholds: { 'task-paused': {} } }, 'task-paused must be false (got an object)'],
  [
    { to: [{ slack }], timeZone: 'Berlin' },
    "timeZone must be a name such as 'Europe/Berlin' or 'UTC' (got \"Berlin\")",
  ],
  [{ to: [{ slack }], language: 'de' }, "language must be one of 'en', 'zh', 'ru' (got \"de\")"],
  [
    { to: [{ slack }], quietHours: { from: '9:00', to: '17:00' } },
    'from must be a time of the day such as \'22:00\' (got "9:00")',
  ],
  [{ to: [{ slack }], quietHours: { from: '22:00' } }, 'quietHours needs from and to'],
  [{ to: [{ slack }], quietHours: { from: '07:00', to: '07:00' } }, 'quietHours from 07:00 to 07:00 cover no time'],
  [
    { to: [{ slack, quietHours: { from: '22:00', to: '7' } }] },
    "to[0]: quietHours: to must be a time of the day such as '07:00', or '24:00'",
  ],
  [
    { to: [{ slack }], quietHours: { from: '22:00', to: '07:00', days: ['so'] } },
    "days must be a list of 'sun', 'mon'",
  ],
])('%j is refused, without its secrets', (options, message) => {
  const plan = () => alertPlan(options as AlertOptions)
  expect(plan).toThrow(message)
  expect(plan).not.toThrow(/hush|hu\nsh/)
})
