import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { test } from './command.ts'

/** Tells what `work` makes of it, and ends. */
const TELL = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
const make = hq.worker.bind(hq)
hq.worker = (options) => {
  const { NODE_ENV, HIGHKIQ_LOG_LEVEL } = process.env
  console.log(JSON.stringify({ options, settings: hq.settings, store: hq.store.url, env: { NODE_ENV, HIGHKIQ_LOG_LEVEL } }))
  make(options)
  process.exit()
}
`
const FORUM = readFileSync(fileURLToPath(new URL('files/forum.yml', import.meta.url)), 'utf8')
const SHOP = readFileSync(fileURLToPath(new URL('files/shop.yml', import.meta.url)), 'utf8')

describe.concurrent('highkiq work reads', { timeout: 300_000 }, () => {
  test("a Rails application's config/sidekiq.yml, with no flag at all", async ({ folder }) => {
    folder.write({ 'config/sidekiq.yml': SHOP, 'config/application.rb': '', 'jobs.mjs': TELL })
    const { code, stdout, stderr } = await folder.run(['work'], { RAILS_ENV: 'staging', APP_NAME: 'shop-de' })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({
      options: {
        concurrency: 5,
        timeout: 5,
        tag: 'shop-de',
        queues: ['shop_critical', 'shop_default'],
        capsules: { mail: { concurrency: 1, queues: ['mailers'] } },
        logJobs: false,
      },
      settings: { slack_channel: '#jobs' },
      store: 'sqlite:highkiq.db',
      env: { NODE_ENV: 'staging' },
    })
    expect(code).toBe(0)
  })

  test('flags over variables over the file that -C names', async ({ folder }) => {
    folder.write({ 'shared/forum.yml': FORUM, 'jobs.mjs': TELL })
    const args = [
      'work',
      '-r',
      'jobs.mjs',
      '-C',
      'shared/forum.yml',
      '-e',
      'production',
      '-q',
      'a,2',
      '-q',
      'b',
      '-v',
      '--label',
      'x',
    ]
    const env = { HIGHKIQ_QUEUES: 'c', HIGHKIQ_TIMEOUT: '7', NODE_ENV: 'mine', HIGHKIQ_MAX_BLOCK_SECONDS: '90' }
    const { stdout } = await folder.run(args, env)
    expect(JSON.parse(stdout)).toMatchObject({
      options: { concurrency: 15, timeout: 7, maxBlockSeconds: 90, queues: ['a,2', 'b'], labels: ['x'], logJobs: true },
      env: { NODE_ENV: 'mine', HIGHKIQ_LOG_LEVEL: 'debug' },
    })
  })

  test('the store of REDIS_PROVIDER, before REDIS_URL and behind HIGHKIQ_URL', async ({ folder }) => {
    folder.write({ 'jobs.mjs': TELL })
    const env = { REDIS_PROVIDER: 'REDISTOGO_URL', REDISTOGO_URL: 'redis://togo:1', REDIS_URL: 'redis://other:2' }
    const store = async (more = {}) => JSON.parse((await folder.run(['work'], { ...env, ...more })).stdout).store
    expect(await store()).toMatch(/togo:1/)
    expect(await store({ REDIS_PROVIDER: '' })).toMatch(/other:2/)
    expect(await store({ HIGHKIQ_URL: 'sqlite:x.db' })).toBe('sqlite:x.db')
  })
})

const RAILS = `---
:verbose: true
:concurrency: <%= ENV.fetch("SIDEKIQ_THREADS", 5) %>
:timeout: <%= ENV['SIDEKIQ_TIMEOUT'] || '7' %>
:max_retries: <%= ENV.fetch('NO_RETRIES', '0').to_i %>
:logfile: ./log/sidekiq.log
:pidfile: ./tmp/pids/sidekiq.pid
:queues:
  - [critical, 3]
  - default
:capsules:
  :mail:
    :concurrency: 1
    :queues:
      - [mailers, 1]
:scheduler:
  :schedule:
    nightly: { cron: '0 3 * * *', class: NightlyJob }
production:
  :concurrency: <%= ENV['PRODUCTION_THREADS'] || 2 %>
staging:
  :concurrency: 50
`
const JOBS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
const Fails = hq.job('Fails', () => { throw new Error('no') })
const Tells = hq.job('Tells', (ctx) => ctx.log.debug('told of ' + ctx.queue))
hq.on('startup', async () => {
  await Fails.performAsync()
  for (const queue of ['critical', 'default', 'mailers', 'elsewhere']) await Tells.set({ queue }).performAsync()
})
`

test("a Rails application's sidekiq.yml works unchanged: jobs run with its settings, and keys without effect are warned about", {
  timeout: 300_000,
}, async ({ folder }) => {
  folder.write({ 'config/sidekiq.yml': RAILS, 'config/application.rb': '', 'jobs.mjs': JOBS })
  const worker = folder.start(['work'], { RAILS_ENV: 'production' })
  // In the log because of verbose.
  const told = await worker.waitFor(/told of (\w+)/, 3)
  expect(told.flat().sort()).toEqual(['critical', 'default', 'mailers'])
  // Its only retries would be those of the file.
  await expect.poll(() => folder.json('dead'), { timeout: 20_000 }).toMatchObject([{ class: 'Fails' }])
  const [process] = await folder.json<Record<string, unknown>[]>('processes')
  expect(process).toMatchObject({
    concurrency: 3,
    queues: ['critical', 'default', 'mailers'],
    capsules: {
      default: { concurrency: 2, mode: 'weighted', weights: { critical: 3, default: 0 } },
      mail: { concurrency: 1 },
    },
  })
  const queues = await folder.json<{ name: string; size: number }[]>('queues')
  expect(queues.filter(({ size }) => size > 0)).toMatchObject([{ name: 'elsewhere', size: 1 }])
  worker.kill('SIGTERM')
  const { code, stderr } = await worker.ended
  expect(code).toBe(0)
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  for (const key of ['logfile', 'pidfile', 'scheduler']) {
    expect(lines.filter(({ msg, level }) => msg.startsWith(`${key}: `) && level === 40)).toHaveLength(1)
  }
})

describe.concurrent('wrong settings are exit code 2, in one line', { timeout: 300_000 }, () => {
  test.for<[name: string, args: string[], env: Record<string, string>, says: RegExp]>([
    [
      'Ruby in the file',
      ['-C', 'random.yml'],
      {},
      /^highkiq: random\.yml:3: <%= Random\.rand\(9\) %>: only ERB look-ups/,
    ],
    ['bad YAML', ['-C', 'bad.yml'], {}, /^highkiq: bad\.yml:3: /],
    ['a missing file', ['-C', 'none.yml'], {}, /^highkiq: there is no file none\.yml/],
    [
      'a value of the file',
      ['-C', 'zero.yml'],
      {},
      /^highkiq: zero\.yml:2: concurrency: It must be a whole number, 1 or more/,
    ],
    ['a value of a flag', ['-t', '0'], {}, /'-t, --timeout <seconds>'.*'0'.*above 0/],
    ['a value of a variable', [], { HIGHKIQ_CONCURRENCY: 'x' }, /^highkiq: HIGHKIQ_CONCURRENCY is "x"/],
    ['an unknown log format', ['--log-format', 'xml'], {}, /pretty, plain, json, sidekiq/],
    [
      'an unknown log format of the environment',
      [],
      { HIGHKIQ_LOG_FORMAT: 'xml' },
      /HIGHKIQ_LOG_FORMAT is "xml": It must be one of pretty/,
    ],
    ['a misspelt flag', ['--max-block-second', '5'], {}, /Did you mean --max-block-seconds\?/],
    [
      'the URL in REDIS_PROVIDER',
      [],
      { REDIS_PROVIDER: 'redis://:secret@host' },
      /^highkiq: REDIS_PROVIDER holds the name of the variable/,
    ],
    [
      'a REDIS_PROVIDER that names nothing',
      [],
      { REDIS_PROVIDER: 'NONE_URL' },
      /REDIS_PROVIDER must name an environment variable.*got NONE_URL/,
    ],
    [
      'a Rails folder',
      ['-r', 'rails'],
      {},
      /^highkiq: rails is a Rails application without a jobs file for Node: work needs -r FILE/,
    ],
    ['a Ruby file', ['-r', 'worker.rb'], {}, /^highkiq: worker\.rb is Ruby: work needs -r FILE/],
    [
      'a folder without jobs',
      ['-r', 'config'],
      {},
      /^highkiq: config has no jobs\.ts or src\/jobs\.ts: work needs -r FILE/,
    ],
  ])('%s', async ([_, args, env, says], { folder }) => {
    folder.write({
      'jobs.mjs': TELL,
      'random.yml': "a: <%= ENV['X'] %>\n<%# nothing %>\nb: <%= Random.rand(9) %>\n",
      'bad.yml': 'a: 1\nb: [1\n',
      'zero.yml': 'timeout: 5\nconcurrency: 0\n',
      'rails/config/application.rb': '',
      'worker.rb': '',
      'config/other.yml': '',
    })
    const { code, stdout, stderr } = await folder.run(['work', ...args], env)
    expect(stderr).toMatch(says)
    expect(stderr).not.toContain('secret')
    expect(stderr.trimEnd().split('\n').length).toBeLessThan(3)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  test('without arguments and without a jobs file it asks for -r', async ({ folder }) => {
    const { code, stderr } = await folder.run(['work'])
    expect(stderr).toMatch(/^highkiq: this folder has no jobs\.ts or src\/jobs\.ts: work needs -r FILE/)
    expect(code).toBe(2)
  })
})

test('-V prints the version, also of work', async ({ folder }) => {
  const { version } = JSON.parse(readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'))
  for (const args of [['-V'], ['work', '-V']]) {
    expect(await folder.run(args)).toMatchObject({ code: 0, stdout: `${version}\n` })
  }
})

test('keys without effect are logged once', { timeout: 300_000 }, async ({ folder }) => {
  folder.write({
    'config/sidekiq.yml': 'poll_interval_average: 5\nhealth_check: 7433\nrequire: ./config/environment.rb\nmine: 1\n',
    'jobs.mjs': "import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq()\n",
  })
  const worker = folder.start(['work', '--processes', '2'])
  await worker.waitFor(/is working/, 2)
  worker.kill('SIGTERM')
  const { stderr } = await worker.ended
  for (const key of ['poll_interval_average', 'health_check', 'require']) {
    expect(stderr.match(new RegExp(`"msg":"${key}: `, 'g'))).toHaveLength(1)
  }
  expect(stderr).toContain('"config":"config/sidekiq.yml"')
  expect(stderr).not.toContain('"msg":"mine')
})
