import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { expect, onTestFinished, test } from 'vitest'
import { type Resolved, resolveSettings, withSettings } from './resolve.ts'
import { NAMES, SETTINGS, type Setting } from './settings.ts'

/** What `highkiq work ARGS` in this environment is to do, with these files in the folder that -r names. */
async function resolved(
  args: string[],
  { env = {}, files = {} }: { env?: Record<string, string>; files?: Record<string, string> } = {},
): Promise<Resolved & { folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-settings-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const command = withSettings(new Command().exitOverride().configureOutput({ writeErr: () => {} }))
  const given = args.map((arg) => arg.replace('FOLDER', folder))
  command.parse(given, { from: 'user' })
  return { ...(await resolveSettings(command, env)), folder }
}

type Sample = [flag: string[], variable: string, yaml: string, read: [unknown, unknown, unknown]]

const alike = (names: string[], sample: Sample) => Object.fromEntries(names.map((name) => [name, sample]))

/** Three different values of each setting: as flag, as variable, as key of a file. */
const SAMPLES: Record<string, Sample> = {
  ...alike(['concurrency', 'leaseSeconds', 'maxBlockSeconds'], [['1'], '2', '3', [1, 2, 3]]),
  ...alike(['orderedConcurrency', 'processes', 'maxMemory'], [['1'], '2', '3', [1, 2, 3]]),
  ...alike(['webHost', 'environment', 'tag', 'logFile'], [['a'], 'b', 'c', ['a', 'b', 'c']]),
  // Settings of the app: no flag and no variable sets them.
  ...alike(['maxRetries', 'maxIterationRuntime', 'deadMax', 'deadSeconds'], [[], '', '3', [undefined, undefined, 3]]),
  queues: [['a,2', 'b'], 'c,3 d', '[[e, 4]]', [['a,2', 'b'], ['c,3', 'd'], ['e,4']]],
  capsules: [
    [],
    '{"a":{"concurrency":2}}',
    '{ b: { queues: [q] } }',
    [undefined, { a: { concurrency: 2 } }, { b: { queues: ['q'] } }],
  ],
  timeout: [['Infinity'], '2.5', '3', [Number.POSITIVE_INFINITY, 2.5, 3]],
  pollInterval: [['0.1'], '0.2', '0.3', [0.1, 0.2, 0.3]],
  web: [['8001'], '8002', '8003', [8001, 8002, 8003]],
  require: [['a.ts', 'b.js'], 'c.ts:d.ts', '[e.mjs]', [['a.ts', 'b.js'], ['c.ts', 'd.ts'], ['e.mjs']]],
  labels: [
    ['a', 'b c'],
    'd, e f',
    '[g, 1]',
    [
      ['a', 'b c'],
      ['d', 'e f'],
      ['g', '1'],
    ],
  ],
  verbose: [[''], 'yes', 'on', [true, true, true]],
  logJobs: [[''], 'false', 'true', [false, false, false]],
  logFormat: [['plain'], 'json', 'sidekiq', ['plain', 'json', 'sidekiq']],
  banner: [[''], '0', '', [false, false, undefined]],
  url: [['sqlite:a'], '', '', ['sqlite:a', undefined, undefined]],
  drain: [[''], '', '', [true, undefined, undefined]],
  alerts: [
    [],
    '',
    "{ time_zone: Europe/Berlin, to: [{ webhook: 'https://a.example/b' }] }",
    [undefined, undefined, { timeZone: 'Europe/Berlin', to: [{ webhook: 'https://a.example/b' }] }],
  ],
  loggedJobAttributes: [[], '', '[tags]', [undefined, undefined, ['tags']]],
}

const names = NAMES.filter((name) => name !== 'config')
test.for(names)('of %s the command line overrides the variable, and the variable overrides the file', async (name) => {
  const setting: Setting = SETTINGS[name]
  const [flag, text, yaml, [byFlag, byVariable, byKey]] = SAMPLES[name] as Sample
  const word = /(--[\w-]+)/.exec(setting.flags ?? '')?.[1] as string
  const args = flag.flatMap((value) => (value === '' ? [word] : [word, value]))
  const env = setting.variable ? { [setting.variable]: text } : {}
  const file = setting.key ? ['-C', 'FOLDER/x.yml'] : []
  const files: Record<string, string> = setting.key ? { 'x.yml': `${setting.key}: ${yaml}` } : {}
  const value = async (...about: Parameters<typeof resolved>) => (await resolved(...about)).settings[name]
  expect(await value([])).toBeUndefined()
  if (setting.key) expect(await value(file, { files })).toEqual(byKey)
  if (setting.variable) expect(await value(file, { files, env })).toEqual(byVariable)
  if (setting.flags) expect(await value([...args, ...file], { files, env })).toEqual(byFlag)
  // Compose files make empty variables of those that are not set.
  if (setting.variable) expect(await value(file, { files, env: { [setting.variable]: '' } })).toEqual(byKey)
})

test.for<[env: Record<string, string>, args: string[], timeout: number | undefined, environment: string]>([
  [{}, [], 1, 'development'],
  [{ NODE_ENV: 'n' }, [], 2, 'n'],
  [{ NODE_ENV: 'n', RACK_ENV: 'ra' }, [], 3, 'ra'],
  [{ NODE_ENV: 'n', RACK_ENV: 'ra', RAILS_ENV: 'r' }, [], 4, 'r'],
  [{ RAILS_ENV: 'r', APP_ENV: 'a' }, [], 5, 'a'],
  [{ APP_ENV: 'a', HIGHKIQ_ENVIRONMENT: 'h' }, [], 6, 'h'],
  [{ APP_ENV: 'a', HIGHKIQ_ENVIRONMENT: 'h' }, ['-e', 'e'], 7, 'e'],
  [{ APP_ENV: '', RAILS_ENV: 'other' }, [], undefined, 'other'],
])('the environment of %j %j', async ([env, args, timeout, environment]) => {
  const sections = ['development', 'n', 'ra', 'r', 'a', 'h', 'e'].map((name, i) => `${name}: { timeout: ${i + 1} }`)
  const files = { 'x.yml': sections.join('\n') }
  const { settings, environment: name } = await resolved([...args, '-C', 'FOLDER/x.yml'], { env, files })
  expect(settings.timeout).toBe(timeout)
  expect(name).toBe(environment)
})

test('RAILS_MAX_THREADS is the concurrency when no other source sets it', async () => {
  const env = { RAILS_MAX_THREADS: '7' }
  expect((await resolved([], { env })).settings.concurrency).toBe(7)
  const files = { 'x.yml': 'concurrency: 3' }
  expect((await resolved(['-C', 'FOLDER/x.yml'], { env, files })).settings.concurrency).toBe(3)
  await expect(resolved([], { env: { RAILS_MAX_THREADS: 'x' } })).rejects.toThrow(/RAILS_MAX_THREADS is "x"/)
})

test.for<[files: string[], chosen: string | undefined]>([
  [['config/sidekiq.yml'], 'config/sidekiq.yml'],
  [['config/sidekiq.yml.erb'], 'config/sidekiq.yml.erb'],
  [['config/sidekiq.yml.erb', 'config/sidekiq.yml'], 'config/sidekiq.yml'],
  [['config/sidekiq.yml', 'config/highkiq.yml'], 'config/highkiq.yml'],
  [['sidekiq.yml'], undefined],
])('the default configuration file of %j', async ([names, chosen]) => {
  const files = Object.fromEntries(names.map((name) => [name, 'concurrency: 2']))
  const { file, folder } = await resolved(['-r', 'FOLDER'], { files })
  expect(file?.path).toBe(chosen && join(folder, chosen))
})

test('a -q without a queue is refused by its name, though the next flag follows it', async () => {
  await expect(resolved(['-q', '-r', 'jobs.ts'])).rejects.toThrow('-q needs the name of a queue (got -r)')
})

test('Ruby paths in require of a file are not loaded, and noted', async () => {
  const files = { 'x.yml': 'require:\n  - ./config/environment.rb\n  - .\n  - worker.ts' }
  const { settings, notes } = await resolved(['-C', 'FOLDER/x.yml'], { files })
  expect(settings.require).toEqual(['worker.ts'])
  expect(notes).toEqual(['require: ./config/environment.rb, . is for Ruby; use -r to load files here'])
  const named = await resolved(['-C', 'FOLDER/x.yml', '-r', 'jobs.ts'], { files })
  expect(named).toMatchObject({ settings: { require: ['jobs.ts'] }, notes: [] })
})

test('-v overrides HIGHKIQ_LOG_LEVEL, which overrides verbose of a variable or file', async () => {
  const env = { HIGHKIQ_LOG_LEVEL: 'warn' }
  expect((await resolved(['-v'], { env })).settings.verbose).toBe(true)
  expect((await resolved([], { env: { ...env, HIGHKIQ_VERBOSE: '1' } })).settings.verbose).toBeUndefined()
})

test.for<[env: Record<string, string>, says: RegExp]>([
  [{ HIGHKIQ_CONCURRENCY: '0' }, /^HIGHKIQ_CONCURRENCY is "0": .*1 or more/],
  [{ HIGHKIQ_TIMEOUT: '0' }, /^HIGHKIQ_TIMEOUT is "0": .*above 0/],
  [{ HIGHKIQ_QUEUES: 'a,b' }, /^HIGHKIQ_QUEUES is "a,b": A queue must be name.*got a,b/],
  [{ HIGHKIQ_CAPSULES: '{' }, /^HIGHKIQ_CAPSULES is "{": It must be name/],
  [{ HIGHKIQ_VERBOSE: 'a bit' }, /^HIGHKIQ_VERBOSE is "a bit": It must be true or false/],
])('%j is refused', async ([env, says]) => {
  await expect(resolved([], { env })).rejects.toThrow(expect.objectContaining({ exitCode: 2 }))
  await expect(resolved([], { env })).rejects.toThrow(says)
})
