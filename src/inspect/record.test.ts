import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { JobRecord } from './record.ts'

const NOW = Date.UTC(2026, 4, 17, 12)

function record(payload: unknown, queue?: string): JobRecord {
  return new JobRecord(typeof payload === 'string' ? payload : JSON.stringify(payload), { queue, now: () => NOW })
}

function activeJob(name: string, args: unknown[], more: object = {}) {
  const job = { job_class: name, job_id: 'uuid', queue_name: 'x', arguments: args, executions: 0 }
  return { class: 'Sidekiq::ActiveJob::Wrapper', wrapped: name, queue: 'x', args: [job], ...more }
}

test('an Active Job is shown under its own class', () => {
  const job = record(activeJob('MyJob', [1, { _aj_globalid: 'gid://app/User/7' }, { a: [2], _aj_symbol_keys: ['a'] }]))
  expect(job.class).toBe('Sidekiq::ActiveJob::Wrapper')
  expect(job.displayClass).toBe('MyJob')
  expect(job.displayArgs).toEqual([1, 'gid://app/User/7', { a: [2] }])
  const { wrapped: _, ...old } = activeJob('OldJob', ['x'])
  expect(record({ ...old, class: 'ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper' }).displayClass).toBe('OldJob')
})

test('a mail is shown as its mailer and method, without them and the way it is delivered', () => {
  const old = record(activeJob('ActionMailer::DeliveryJob', ['UserMailer', 'welcome', 'deliver_now', 7, 'bob']))
  expect([old.displayClass, old.displayArgs]).toEqual(['UserMailer#welcome', [7, 'bob']])
  const more = { params: { user: { _aj_globalid: 'gid://app/User/7' }, _aj_symbol_keys: ['user'] }, args: [1] }
  const mail = record(activeJob('ActionMailer::MailDeliveryJob', ['UserMailer', 'welcome', 'deliver_now', more]))
  expect([mail.displayClass, mail.displayArgs]).toEqual(['UserMailer#welcome', [{ user: 'gid://app/User/7' }, [1]]])
})

test('a class can have a display name, and an encrypted argument is hidden', () => {
  const job = record({ class: 'A', display_class: 'Invoice', args: [1, 'c2VjcmV0'], encrypt: true })
  expect([job.displayClass, job.displayArgs]).toEqual(['Invoice', [1, '[encrypted]']])
  expect(job.args).toEqual([1, 'c2VjcmV0'])
})

test.each([
  ...['not json', '', 'null', '5', '"text"', '[1,2]', '{}'],
  '{"class":5,"args":null}',
  '{"class":null,"args":{"a":1},"jid":7,"tags":"x","created_at":"soon","retry_count":"2","queue":[1]}',
  '{"class":"Sidekiq::ActiveJob::Wrapper"}',
  '{"class":"Sidekiq::ActiveJob::Wrapper","args":[null]}',
  '{"class":"Sidekiq::ActiveJob::Wrapper","args":[{"arguments":5}],"wrapped":7}',
  '{"class":"Sidekiq::ActiveJob::Wrapper","wrapped":"ActionMailer::MailDeliveryJob","args":[{"arguments":[]}]}',
  '{"class":"Sidekiq::ActiveJob::Wrapper","wrapped":"ActionMailer::MailDeliveryJob","args":[{"arguments":[1,2,3,null]}]}',
  '{"class":"A","args":[],"error_backtrace":"%%%"}',
  '{"class":"A","args":[],"error_backtrace":"eJwDAAAAAAE="}',
  '{"class":"A","args":[],"error_backtrace":{"a":1},"failed_at":1e300,"encrypt":true}',
  '{"class":"A","args":[],"jid":{"toString":1},"tags":[{"toString":1},[[]]]}',
  '{"class":"Sidekiq::ActiveJob::Wrapper","wrapped":"ActionMailer::DeliveryJob","args":[{"arguments":[{"toString":1}]}]}',
])('garbage has every field all the same: %s', (text) => {
  const job = record(text)
  expect(job.text).toBe(text)
  expect(Array.isArray(job.args) && Array.isArray(job.displayArgs) && Array.isArray(job.tags)).toBe(true)
  for (const field of ['jid', 'class', 'displayClass', 'queue'] as const) expect(typeof job[field]).toBe('string')
  const { createdAt, enqueuedAt, failedAt, retriedAt, backtrace, bid } = job
  expect([createdAt, enqueuedAt, failedAt, retriedAt, backtrace, bid]).toEqual(Array(6).fill(null))
  expect(job.latency).toBe(0)
  expect(JSON.stringify(job)).toContain('"jid"')
})

test('a text that is no JSON is its own argument', () => {
  expect(record('oops').args).toEqual(['oops'])
  expect(record('{}').args).toEqual(['{}'])
  expect(record('{"class":"A","args":null}').args).toEqual([])
})

test('times are milliseconds or seconds, by their type', () => {
  const times = '"created_at":1779019190123,"enqueued_at":1779019195.5,"failed_at":1779019195.0'
  const job = record(`{"class":"A","args":[],${times}}`)
  expect(job.createdAt).toEqual(new Date(1779019190123))
  expect(job.enqueuedAt).toEqual(new Date(1779019195500))
  expect(job.failedAt).toEqual(new Date(1779019195000))
  expect(job.latency).toBe(4.5)
  expect(record('{"class":"A","args":[],"created_at":1779019190000}').latency).toBe(10)
})

test('a backtrace is read as all versions store it', () => {
  const lines = ['a.rb:1', 'b.rb:2']
  const stored = deflateSync(JSON.stringify(lines)).toString('base64')
  expect(record({ class: 'A', args: [], error_backtrace: stored }).backtrace).toEqual(lines)
  expect(record({ class: 'A', args: [], error_backtrace: lines }).backtrace).toEqual(lines)
  const bomb = deflateSync(Buffer.alloc(50_000_000, 0x20)).toString('base64')
  expect(record({ class: 'A', args: [], error_backtrace: bomb }).backtrace).toBe(null)
})

test('integers beyond 2^53 are kept', () => {
  expect(record('{"class":"A","args":[9007199254740993]}').args).toEqual([9007199254740993n])
})

test('the queue is that in which the job was found, else the one in its payload', () => {
  expect(record({ class: 'A', args: [], queue: 'a' }, 'b').queue).toBe('b')
  expect(record({ class: 'A', args: [], queue: 'a' }).queue).toBe('a')
  expect(record({ class: 'A', args: [] }).queue).toBe('')
})

test('backtrace lines that are not strings are left out, and a retry count is a whole number', () => {
  const job = record('{"class":"A","args":[],"error_backtrace":[{"toString":1},"a.rb:1"],"retry_count":2.5}')
  expect([job.backtrace, job.retryCount]).toEqual([['a.rb:1'], 2])
  for (const wrong of ['1e400', '-1', '"2"']) {
    expect(record(`{"class":"A","args":[],"retry_count":${wrong}}`).retryCount).toBeNull()
  }
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  expect(record(`{"class":"A","args":[],"tags":${deep},"jid":${deep}}`)).toMatchObject({ jid: '', tags: [] })
})
