/** Malformed configuration files, variables and store URLs: each is read, or refused with one line and exit code 2. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import fc from 'fast-check'
import { Highkiq, HighkiqError } from 'highkiq'
import { expect } from 'vitest'
import { resolveSettings, withSettings } from '#dist/cli/config/resolve.js'
import { SETTINGS } from '#dist/cli/config/settings.js'
import { CliError } from '#dist/cli/usage.js'
import { test } from '../cli/command.ts'
import { recorder } from '../engine/bench.ts'
import { byteEdits, editedJson, editedText, FUZZ_TIME, fuzz, type Json, jsonEdits, STACK } from './fuzz.ts'

const SETTINGS_OF_FILE: Json = {
  concurrency: 5,
  timeout: 8,
  verbose: true,
  queues: ['low', ['high', 2], 'a,3'],
  capsules: { single: { concurrency: 1, queues: ['one'] } },
  labels: ['a', 'b'],
  tag: 'shop',
  environment: 'production',
  log_format: 'json',
  web: 7433,
  max_retries: 3,
  dead_max_jobs: 100,
  dead_timeout_in_seconds: 100,
  skip_default_job_logging: true,
  logged_job_attributes: ['tags'],
  alerts: {
    time_zone: 'Europe/Berlin',
    to: [{ webhook: 'https://a.example/b', headers: { a: 'b' } }],
    quiet: '22:00-06:00',
  },
  production: { concurrency: 25 },
  own: { nested: [1, { a: null }] },
}

const YAML = `---
:concurrency: <%= ENV.fetch('N', 5) %>
:queues: &queues
  - critical
  - [default, 2]
staging: &base
  :concurrency: 10
production:
  <<: *base
  :queues: *queues
  web: yes
  timeout: 25 # seconds
:schedule:
  nightly: { cron: "30 3 * * *", class: 'Nightly' }
text: |
  two
  lines
when: 2026-01-01
ratio: 1_000.5
`

const TOKENS = [
  '&a ',
  '*a',
  '<<: ',
  '!!',
  '!ruby/object:A ',
  '- ',
  ': ',
  '? ',
  '| ',
  '{',
  '}',
  '[',
  ']',
  '#',
  '"',
  "'",
  '\t',
  '\n',
  '---\n',
  '%',
  '<%= ',
  '%>',
  "ENV['N']",
  ' || ',
  '.to_i',
  '.constructor',
  'toString',
  '__proto__: ',
  'constructor: ',
  '\0',
]

const file = fc.oneof(
  jsonEdits([
    'concurrency',
    'constructor',
    'toString',
    '__proto__',
    'production',
    'development',
    'strict',
    'alerts',
    'queues',
    '<<',
  ]).map((edits) => editedJson(SETTINGS_OF_FILE, edits)),
  byteEdits(TOKENS).map((edits) => editedText(YAML, edits)),
)

const words = [
  '',
  '0',
  '1',
  '-1',
  '1e3',
  'yes',
  'Infinity',
  'NaN',
  'a,b,c',
  ',',
  '{}',
  '[',
  '{"a":{"queues":"b"}}',
  '{"__proto__":1}',
  'null',
  'x'.repeat(5000),
  '\0',
  'json',
]
const word = fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 8 }))
const NAMES = [
  'N',
  'APP_ENV',
  'RAILS_MAX_THREADS',
  'HIGHKIQ_LOG_LEVEL',
  ...Object.values(SETTINGS).flatMap(({ variable }) => variable ?? []),
]
const variables = fc.dictionary(fc.constantFrom(...NAMES.filter((name) => name !== 'HIGHKIQ_CONFIG')), word, {
  maxKeys: 2,
})
const FLAGS = Object.values(SETTINGS)
  .flatMap(({ flags }) => /--[\w-]+/.exec(flags ?? '') ?? [])
  .map(String)
const flags = fc.array(fc.tuple(fc.constantFrom(...FLAGS.filter((flag) => flag !== '--config')), fc.option(word)), {
  maxLength: 2,
})

/** A wrong variable or flag ends the reading before the file is read. */
const rare = <T extends object>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(null), weight: 3 }, arbitrary)

test('malformed settings of the worker are read, or refused with exit code 2', { timeout: FUZZ_TIME }, async ({
  folder,
}) => {
  const path = join(folder.path, 'highkiq.yml')
  await fuzz({ percent: 8 }, fc.tuple(file, rare(variables), rare(flags)), async ([text, env, flags]) => {
    writeFileSync(path, text)
    const command = withSettings(new Command().exitOverride().configureOutput({ writeErr: () => {} }))
    try {
      command.parse(
        ['-C', path, ...(flags ?? []).flatMap(([flag, value]) => (value === null ? [flag] : [flag, value]))],
        {
          from: 'user',
        },
      )
      const { notes } = await resolveSettings(command, env ?? {})
      for (const note of notes) expect(note).not.toMatch(STACK)
    } catch (thrown) {
      if (thrown instanceof CommanderError) return
      expect(thrown).toBeInstanceOf(CliError)
      const { message, exitCode } = thrown as InstanceType<typeof CliError>
      expect(exitCode, message).toBe(2)
      expect(message).toMatch(/highkiq\.yml|HIGHKIQ_|RAILS_MAX_THREADS/)
      expect(message).not.toMatch(STACK)
    }
  })
})

const URLS = [
  'sqlite:/tmp/highkiq-none/jobs.db?synchronous=full',
  'redis://user:secret@localhost:1/0?namespace=a',
  'rediss://localhost:1',
  'redis+sentinel://a:1,b:2/main',
  'redis+cluster://user:secret@a:1,b:2?namespace=a',
  'postgres://user:secret@localhost:1/shop?schema=hk',
  'postgresql://%2Ftmp/shop',
]

test('a malformed URL opens a store or is refused', { timeout: FUZZ_TIME }, async () => {
  const edits = byteEdits([
    ':',
    '/',
    '//',
    '@',
    '?',
    '&',
    '=',
    '#',
    '%',
    '%00',
    '%zz',
    '[',
    ']',
    '::1',
    '\0',
    '\n',
    '999999',
    'namespace=',
    ' ',
  ])
  await fuzz({ percent: 2 }, fc.tuple(fc.constantFrom(...URLS), edits), async ([url, edits]) => {
    const edited = editedText(url, edits)
    // Without the colon it is the name of a user.
    const hidden = edited.includes(':secret@') ? 'secret' : '***@***'
    try {
      const app = new Highkiq({ url: edited, logger: recorder() })
      expect(app.store.url).not.toContain(hidden)
      await app.close()
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(HighkiqError)
      expect((thrown as Error).message).not.toMatch(STACK)
      expect((thrown as Error).message).not.toContain(hidden)
    }
  })
})
