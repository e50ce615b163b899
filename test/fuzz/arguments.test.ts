/** Every command with malformed arguments: it ends with exit code 0 to 3 and says why, and never prints a stack. */

import { PassThrough, Readable } from 'node:stream'
import { Command } from 'commander'
import fc from 'fast-check'
import { Highkiq } from 'highkiq'
import { expect, onTestFinished } from 'vitest'
import { registerAll } from '#dist/cli/commands.js'
import { type Io, runCommand } from '#dist/cli/run-command.js'
import { test } from '../cli/command.ts'
import { recorder } from '../engine/bench.ts'
import { FUZZ_TIME, fuzz, STACK } from './fuzz.ts'

/** Commands that go on until they are stopped, or write into the working folder: test/cli starts them as processes. */
const OTHERS = ['work', 'web', 'events', 'demo', 'bench', 'init']
/** Options that wait, and one that prints stacks on purpose. */
const WAITING = ['--watch', '--wait', '--follow', '--verbose', '--help', '--url', '--require']

interface Known {
  path: string[]
  /** Names of its arguments. */
  args: string[]
  options: { flag: string; hasValue: boolean; choices: string[] }[]
}

function commandsOf(command: Command, path: string[] = []): Known[] {
  const options = command.options
    .filter(({ long }) => long && !WAITING.includes(long))
    .map((option) => ({
      flag: option.long as string,
      hasValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    }))
  const args = command.registeredArguments.map((argument) => argument.name())
  return [
    { path, args, options },
    ...command.commands
      .filter((one) => path.length > 0 || !OTHERS.includes(one.name()))
      .flatMap((one) => commandsOf(one, [...path, one.name()])),
  ]
}

const program = new Command()
registerAll(program)
const COMMANDS = commandsOf(program).slice(1)

const TASK = '0123456789abcdef'
const WORDS = [
  '1',
  '5',
  '10',
  'low',
  'default',
  'HardJob',
  'Row',
  '2030-01-01T00:00:00Z',
  '30d',
  '5m',
  '[1]',
  '{"a":1}',
  'a=b',
  '0.a=1',
  'queue:low',
  'dead,retry',
  'until-start',
  'nightly',
  'Sync',
  '5%',
  'FOLDER/a.csv',
  'FOLDER/out.xlsx',
  '-',
  'b4a577edbccf1d805744efa9',
  TASK,
  'ID',
  'JID',
  'sqlite:FOLDER/other.db',
]
const ODD = [
  '',
  ' ',
  '-1',
  '1e400',
  '9'.repeat(400),
  'NaN',
  'x'.repeat(5000),
  '__proto__',
  'constructor',
  '=',
  ',',
  '%',
  '\n',
  '\ud800',
  '😀',
  '*',
  '[',
  '{',
  '{"a":',
  '['.repeat(5000),
  '[1e400,12345678901234567890]',
  '{"__proto__":1}',
  '../..',
  '/',
  '/dev/null',
  'FOLDER',
  'FOLDER/none',
  '--',
  '-x',
  '--odd',
  '2030-13-01',
  '+275760-09-14T00:00:00Z',
  '999999999d',
  'p3:low',
]
const word = fc.oneof(
  { arbitrary: fc.constantFrom(...WORDS), weight: 4 },
  { arbitrary: fc.constantFrom(...ODD), weight: 2 },
  fc.string({ unit: 'grapheme', maxLength: 8 }),
)

const malformed = fc.record({
  command: fc.constantFrom(...COMMANDS),
  args: fc.array(word, { minLength: 4, maxLength: 4 }),
  /** More or fewer arguments than the command has. */
  more: fc.constantFrom(0, 0, 0, 0, 1, -1),
  options: fc.array(fc.record({ which: fc.nat(), value: word, isBare: fc.nat(9) }), { maxLength: 3 }),
  isLoaded: fc.nat(3),
  input: fc.constantFrom('', '{"id":1}\n', '{"jobs":[{"class":"HardJob","args":[1]}]}', '{', 'y\n'),
})

test('a command with malformed arguments ends with a message', { timeout: FUZZ_TIME }, async ({ folder }) => {
  const before = process.cwd()
  onTestFinished(() => process.chdir(before))
  process.chdir(folder.path)
  const url = `sqlite:${folder.at('jobs.db')}`
  const hq = new Highkiq({ url, logger: recorder() })
  const Row = hq.job('Row', async (_ctx, _row: object) => {})
  const task = await hq.tasks.create(Row, [[{ sku: 'a' }]], { keepArgs: 'all' })
  const jid = (await hq.push({ class: 'HardJob', args: [1], queue: 'low' })) as string
  await hq.store.jobs.push(
    [
      {
        to: 'dead',
        text: JSON.stringify({ class: 'HardJob', args: [], jid: 'b4a577edbccf1d805744efa9', queue: 'low' }),
        score: 5,
      },
    ],
    Date.now(),
  )
  await hq.close()
  folder.write({ 'a.csv': 'sku,price\na,1\nb,2\n' })
  const filled = (text: string) => text.replace('FOLDER', folder.path).replace(/^ID$/, task.id).replace(/^JID$/, jid)
  let loads = 0
  await fuzz({ percent: 10 }, malformed, async ({ command, args, more, options, isLoaded, input }) => {
    const argv = [...command.path, ...args.slice(0, Math.max(command.args.length + more, 0)).map(filled)]
    for (const { which, value, isBare } of options) {
      const option = command.options[which % command.options.length]
      if (!option) continue
      const valid = option.choices[which % option.choices.length]
      argv.push(option.flag, ...(option.hasValue === isBare > 0 ? [valid ?? filled(value)] : []))
    }
    argv.push('--url', url)
    if (isLoaded === 0) {
      // A command closes the app that it has loaded.
      const name = `jobs-${loads++}.mjs`
      folder.write({ [name]: JOBS })
      argv.push('-r', folder.at(name))
    }
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const streams = { stdout, stderr, stdin: Readable.from([input]), env: {} } as unknown as Io
    const code = await runCommand(argv, streams)
    const said = String(stderr.read() ?? '')
    const about = `${JSON.stringify(argv)} ${code} ${said}`
    expect([0, 1, 2, 3], about).toContain(code)
    expect(said, about).not.toMatch(STACK)
    if (code !== 0) expect(said + String(stdout.read() ?? ''), about).not.toBe('')
  })
})

const JOBS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('HardJob', async () => {})
hq.job('Row', async () => {})
hq.ordered('Sync', async () => {})
hq.cron('nightly', '30 3 * * *', hq.jobNamed('HardJob'))
`
