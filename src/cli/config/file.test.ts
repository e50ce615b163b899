import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ConfigFile, readConfig } from './file.ts'

/** Files in the shape that applications in production have. */
const FILES = fileURLToPath(new URL('../../../test/cli/files/', import.meta.url))

function read(text: string, environment?: string, env: Record<string, string> = {}): ConfigFile {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'x.yml'), text)
  return readConfig(join(folder, 'x.yml'), environment, env)
}

const settings = (...about: Parameters<typeof read>) => read(...about).settings

test('a wrong section of alerts is refused without its secrets', () => {
  const text = 'alerts:\n  to:\n    - slack: hooks.example/<%= ENV["HOOK"] %>\n'
  expect(() => read(text, undefined, { HOOK: 'T0SECRET' })).toThrow(/^(?!.*T0SECRET).*x\.yml:2: alerts: /)
})

describe('files of Rails applications', () => {
  test('a social network: weights in brackets and a schedule', () => {
    const { settings, custom, notes } = readConfig(`${FILES}social.yml`, 'production', { VACUUM_HOUR: '3' })
    const queues = ['default,8', 'push,6', 'ingress,4', 'mailers,2', 'pull', 'scheduler']
    expect(settings).toEqual({ concurrency: 5, queues })
    const schedule = { vacuum_scheduler: { cron: '17 3 * * *' } }
    expect(custom).toMatchObject({ scheduler: { listened_queues_only: true, schedule } })
    expect(notes).toEqual([expect.stringMatching(/^scheduler: /)])
  })

  const weighted = ['critical,8', 'default,4', 'low,2', 'ultra_low']
  test.for<[environment: string | undefined, env: Record<string, string>, expected: object]>([
    [undefined, {}, { concurrency: 2, verbose: true, queues: ['critical', 'default', 'low', 'ultra_low'] }],
    ['test', { UNICORN_SIDEKIQ_THREADS: '9' }, { concurrency: 9, verbose: false }],
    ['production', { SIDEKIQ_CONCURRENCY: '40' }, { concurrency: 40, verbose: false, queues: weighted }],
    ['production', {}, { concurrency: 15, timeout: 30 }],
  ])('a forum in %s: sections, aliases, merged keys', ([environment, env, expected]) => {
    const { settings, notes } = readConfig(`${FILES}forum.yml`, environment, env)
    expect(settings).toMatchObject({ timeout: 30, ...expected })
    expect(notes.map((note) => note.split(':')[0])).toEqual(['logfile', 'pidfile'])
  })

  test('a forge: queues as lists of lists, names with dots and colons, limits of the dead set', () => {
    const { settings, custom, notes } = readConfig(`${FILES}forge.yml`, 'production', { ZONE: 'zone-c' })
    expect(settings).toEqual({
      concurrency: 20,
      maxRetries: 3,
      deadMax: 50_000,
      deadSeconds: 7_776_000,
      require: ['.'],
      labels: ['catch-all', 'zone-c'],
      queues: ['pipeline_processing:build_finished,5', 'repository_fork,1', 'mailers,2', 'hashed_storage.migrate,1'],
    })
    expect(custom).toEqual({ poll_interval_average: 15 })
    expect(notes).toHaveLength(1)
  })

  test('a shop: capsules, look-ups in names, keys of its own', () => {
    const env = { QUEUE_PREFIX: 'de', APP_NAME: 'shop-de', MAIL_THREADS: '4' }
    const { settings, custom, notes } = readConfig(`${FILES}shop.yml`, 'production', env)
    expect(settings).toEqual({
      concurrency: 5,
      timeout: 25,
      tag: 'shop-de',
      logJobs: false,
      loggedJobAttributes: ['tags', 'tenant_id'],
      queues: ['de_critical', 'de_default'],
      capsules: {
        single_threaded: { concurrency: 1, queues: ['de_inventory'] },
        mail: { concurrency: 4, queues: ['mailers,2', 'newsletter,1'] },
      },
    })
    expect(custom).toMatchObject({ slack_channel: '#jobs' })
    expect(notes).toEqual([])
    const staging = readConfig(`${FILES}shop.yml`, 'staging', {}).settings
    expect(staging).toMatchObject({ timeout: 5, capsules: { mail: { concurrency: 1 } } })
    expect(staging.capsules).not.toHaveProperty('single_threaded')
  })
})

test.for<[name: string, text: string, queues: string[]]>([
  ['names', 'queues: [a, b]', ['a', 'b']],
  ['symbols', ':queues:\n  - :a\n  - :b_c', ['a', 'b_c']],
  ['quoted symbols', ':"queues": [:"a-b.c"]', ['a-b.c']],
  ['name,weight', 'queues: ["a,3", b]', ['a,3', 'b']],
  ['pairs', 'queues:\n  - [a, 3]\n  - - b\n    - 1', ['a,3', 'b,1']],
  ['one', 'queues: a', ['a']],
  ['numbers', 'queues: [1, [2, 3]]', ['1', '2,3']],
])('queues as %s', ([_, text, queues]) => {
  expect(settings(text).queues).toEqual(queues)
})

test('of two equal keys in a file the last counts, also as string and symbol', () => {
  expect(settings('concurrency: 1\n:concurrency: 2').concurrency).toBe(2)
})

test('a key that a file or its section has twice is noted with the lines', () => {
  const text = 'concurrency: 1\ntimeout: 3\nproduction:\n  tag: a\n  tag: b\n:concurrency: 2'
  expect(read(text, 'production').notes).toEqual([
    'concurrency is set in lines 1 and 6: the last one counts',
    'tag is set in lines 4 and 5: the last one counts',
  ])
})

test('a value that is refused is shown', () => {
  expect(() => read('concurrency: many')).toThrow(/concurrency: It must be a whole number, 1 or more \(got "many"\)$/)
})

test('a section overrides whole keys; sections of other environments have no effect', () => {
  const text =
    'timeout: 9\nqueues: [a]\ncapsules: { x: { queues: [q] } }\nstaging: { queues: [b], capsules: {} }\nproduction: { timeout: 1 }'
  expect(settings(text, 'staging')).toEqual({ timeout: 9, queues: ['b'], capsules: {} })
})

test("the file's own environment is the default", () => {
  const text = 'environment: staging\nstaging: { timeout: 3 }\nproduction: { timeout: 4 }'
  expect(settings(text)).toMatchObject({ environment: 'staging', timeout: 3 })
  expect(settings(text, 'production').timeout).toBe(4)
})

test('a mistyped key is noted; a key of the app is not', () => {
  const { custom, notes } = read('concurency: 5\nqeues: [a]\ntag: x\nslack_channel: y\ntimeout: 5')
  expect(custom).toEqual({ concurency: 5, qeues: ['a'], slack_channel: 'y' })
  expect(notes).toEqual([
    'concurency is unknown; did you mean concurrency? The app finds it in hq.settings',
    'qeues is unknown; did you mean queues? The app finds it in hq.settings',
  ])
})

test('an empty file has no settings, and strict is ignored, as in Sidekiq', () => {
  for (const text of ['', 'strict: false']) expect(read(text)).toMatchObject({ settings: {}, custom: {}, notes: [] })
  expect(settings('---\nconcurrency:\nqueues: ~')).toEqual({})
})

describe('errors name the file and line', () => {
  test.for<[text: string, says: RegExp]>([
    ['a: 1\nconcurrency: 0', /x\.yml:2: concurrency: .*1 or more/],
    ['concurrency: many', /x\.yml:1: concurrency: .*whole number/],
    ['concurrency: [5]', /x\.yml:1: concurrency: It must be a single value/],
    ['\n\ntimeout: 0', /x\.yml:3: timeout: .*above 0/],
    ['timeout: -1', /timeout: .*above 0/],
    ['test: &t\n  timeout: 0\ndevelopment:\n  timeout: -3', /x\.yml:4: timeout/],
    ['verbose: maybe', /verbose: It must be true or false/],
    ['queues:\n  - critical: 3', /x\.yml:2: queues: A queue must be name.*got \{"critical":3\}/],
    ['queues: [[a, b]]', /queues: A queue must be name/],
    ['queues: []', /at least one queue/],
    ['capsules: [a]', /capsules: It must be name: { concurrency, queues }/],
    ['capsules:\n  mail:\n    concurrency: 0', /x\.yml:\d: capsules: mail: .*1 or more/],
    ['- a\n- b', /must contain keys and values/],
    ['concurrency: 5\nqueues: [a', /x\.yml:2: /],
    ['a: *nothing', /x\.yml.*nothing/],
    ['a: !ruby/object:Date {}', /x\.yml:1: .*ruby\/object/],
    ['a: 1\nb: <%= Random.rand(0..59) %>', /x\.yml:2: <%= Random\.rand\(0\.\.59\) %>: only ERB look-ups/],
    ["a: 1\n<% if ENV['X'] %>\nb: 1\n<% end %>", /x\.yml:2: <% if ENV\['X'\] %>: only ERB look-ups/],
    ["a: <%= ENV.fetch('SECRET') %>", /x\.yml:1: .*variable SECRET is not set/],
  ])('%j', ([text, says]) => {
    expect(() => settings(text)).toThrow(expect.objectContaining({ exitCode: 2, message: expect.stringMatching(says) }))
  })

  test('the value of a variable is not shown', () => {
    const wrong = () => settings("timeout: <%= ENV['URL'] %>: [", undefined, { URL: 'redis://:secret@host' })
    expect(wrong).toThrow(expect.objectContaining({ message: expect.not.stringContaining('secret') }))
  })
})

test.each(['constructor', 'toString', '__proto__'])('a key with the name %s belongs to the app', (key) => {
  const { custom, settings } = read(`${key}: 5\nconcurrency: 3`)
  expect(Object.entries(custom)).toEqual([[key, 5]])
  expect(settings).toEqual({ concurrency: 3 })
})

const UNREADABLE: [text: string, says: RegExp][] = [
  ['queues: &a [*a]', /x\.yml: an alias \(\*name\) refers to the value that contains it/],
  ['alerts: &a { to: *a }', /x\.yml: an alias \(\*name\) refers to the value that contains it/],
  ['queues: [{ "toString": 1 }]', /x\.yml:1: queues: A queue must be name, or name,weight/],
  ['queues: [[[a], 2]]', /x\.yml:1: queues: A queue must be name, or name,weight/],
  [`own: ${'['.repeat(2000)}${']'.repeat(2000)}`, /x\.yml has more than 200 lists or maps inside of each other/],
  [`own: ${'[1,'.repeat(2000)}${']'.repeat(2000)}`, /x\.yml has more than 200 lists or maps/],
  [`own: ${'{ a: '.repeat(2000)}${'}'.repeat(2000)}`, /x\.yml has more than 200 lists or maps/],
  [`own:\n  ${'- '.repeat(20_000)}1`, /x\.yml has more than 200 lists or maps/],
]

test('brackets in a comment or a text are no lists', () => {
  expect(read(`# ${'['.repeat(300)}\nown: '${'['.repeat(300)}'`).custom).toEqual({ own: '['.repeat(300) })
})

test('a value that can never be read is refused with its place', () => {
  for (const [text, says] of UNREADABLE) expect(() => read(text)).toThrow(says)
})
