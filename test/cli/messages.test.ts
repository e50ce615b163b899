/** Messages and help of the command line, in this process. In arguments @ stands for the folder of the test. */

import { Highkiq } from 'highkiq'
import { describe, expect, onTestFinished } from 'vitest'
import { test } from './command.ts'
import { runHere } from './in-process.ts'

const JOBS = "import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq()\nhq.job('HardJob', async () => {})\n"
const NO_DATABASE = 'no database '.repeat(100)

/** Any line of a stack. */
const STACK = /^\s+at /m

describe('wrong usage is exit code 2, and says what would be right', () => {
  test.for<[name: string, args: string[], says: RegExp]>([
    ['a misspelt command', ['wrok'], /unknown command 'wrok'\s+\(Did you mean work\?\)/],
    ['a misspelt flag', ['work', '--concurency', '5'], /'--concurency'\s+\(Did you mean --concurrency\?\)/],
    ['a value of the wrong kind', ['work', '-c', 'many', '-r', '@jobs.mjs'], /--concurrency .*'many'.*whole number/],
    [
      'a file without an app',
      ['work', '-r', '@none.mjs'],
      /none\.mjs must export an app.*export const hq = new Highkiq\(\)/,
    ],
    ['a file with two apps', ['work', '-r', '@two.mjs'], /two\.mjs must export only one app/],
    [
      'a job that the file does not define',
      ['enqueue', 'HrdJob', '-r', '@jobs.mjs'],
      /"HrdJob"; defined here: HardJob/,
    ],
    ['a time that is only a number', ['enqueue', 'HardJob', '--at', '5'], /--at .*'5'.*ISO 8601/],
    ['a time in words', ['enqueue', 'HardJob', '--at', '1 May 2030'], /ISO 8601, such as 2026-12-01T08:00:00Z/],
    ['a month that no calendar has', ['enqueue', 'HardJob', '--at', '2030-13-01'], /ISO 8601/],
    ['a day that no calendar has', ['enqueue', 'HardJob', '--at', '2030-02-30'], /ISO 8601/],
    ['an edit without arguments', ['edit', '5f9c'], /give the arguments .* --args JSON; --args '\[\]' means none/],
    ['an edit with arguments twice', ['edit', '5f9c', '7', '--args', '[7]'], /as words or as --args JSON \(got both\)/],
    ['an unknown store', ['enqueue', 'HardJob', '--url', 'foo:bar'], /"foo:bar" is not a store URL/],
  ])('%s', async ([_, args, says], { folder }) => {
    folder.write({
      'jobs.mjs': JOBS,
      'none.mjs': 'export const x = 1',
      'two.mjs': "import { Highkiq } from 'highkiq'\nexport const a = new Highkiq(), b = new Highkiq()",
    })
    const { code, stdout, stderr } = await runHere(args.map((arg) => arg.replace('@', `${folder.path}/`)))
    expect(stderr).toMatch(says)
    expect(stderr).not.toMatch(STACK)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  test('a push of a unique job that exists already says so', async ({ folder }) => {
    folder.write({ 'jobs.mjs': `${JOBS}hq.job('Once', { unique: true }, async () => {})\n` })
    const push = ['enqueue', 'Once', '-r', 'jobs.mjs']
    const first = await folder.run(push)
    expect(first.stderr).toBe('')
    const jid = first.stdout.trim()
    const stderr = `highkiq: not pushed: job ${jid} has the lock of this unique job\n`
    expect(await folder.run(push)).toMatchObject({ code: 0, stdout: `${jid}\n`, stderr })
    expect(await folder.json(...push)).toEqual({ jid, existing: true })
    const own = ['enqueue', 'HardJob', '-r', 'jobs.mjs', '--jid', 'mine']
    expect(await folder.run(own)).toMatchObject({ code: 0, stdout: 'mine\n', stderr: '' })
    const again = 'highkiq: not pushed: job mine waits or runs already\n'
    expect(await folder.run(own)).toMatchObject({ code: 0, stdout: 'mine\n', stderr: again })
  })

  test('links are revoked of a task, or of a list, and of nothing else', async ({ folder }) => {
    const url = `sqlite:${folder.path}/jobs.db`
    const hq = new Highkiq({ url, publicUrl: 'https://shop.example' })
    onTestFinished(() => hq.close())
    const task = await hq.tasks.create(
      hq.job('Row', async () => {}),
      [],
    )
    const link = await task.link()
    const revoke = (...args: string[]) => runHere(['task', 'revoke-links', ...args, '--url', url])
    expect((await revoke(task.id)).stdout).toBe(`all links to task ${task.id} are revoked\n`)
    expect(await task.link()).not.toBe(link)
    const list = await revoke('--meta', 'user=7', '--meta', 'shop=a b', '--json')
    expect(JSON.parse(list.stdout)).toEqual({ meta: { user: '7', shop: 'a b' }, revoked: true })
    expect(await hq.store.results.linkVersions()).toEqual({ 'shop=a+b&user=7': 1 })
    for (const [args, code, says] of [
      [[], 2, 'revoke-links needs the id of a task or --meta, not both'],
      [[task.id, '--meta', 'user=7'], 2, 'revoke-links needs the id of a task or --meta, not both'],
      [['--meta', 'user'], 2, 'It must be NAME=VALUE'],
      [['0123456789abcdef'], 1, 'there is no task 0123456789abcdef'],
    ] as const) {
      expect(await revoke(...args)).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(says) })
    }
  })

  test('all commands are listed in groups', async () => {
    const { code, stdout } = await runHere(['--help'])
    expect(stdout).toMatch(/^Run and push:\n {2}work .*^Show:\n {2}stats /ms)
    expect(code).toBe(0)
  })

  test('--help exits with 0', async () => {
    const { code, stdout } = await runHere(['work', '--help'])
    expect(stdout).toContain('highkiq work -r jobs.ts -c 25')
    expect(code).toBe(0)
  })
})

describe("a store that can't be used is exit code 1 and one line", () => {
  test.for<[name: string, args: string[], says: RegExp]>([
    [
      'pushing to a file that is not a database',
      ['enqueue', 'HardJob', '--url', 'sqlite:@bad.db'],
      /bad\.db: this file is not a database/,
    ],
    ['working on it', ['work', '-r', '@jobs.mjs', '--url', 'sqlite:@bad.db'], /bad\.db: this file is not a database/],
    ['a missing folder', ['enqueue', 'HardJob', '--url', 'sqlite:@no/x.db'], /no\/x\.db: can't be opened/],
  ])('%s', async ([_, args, says], { folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'bad.db': NO_DATABASE })
    const { code, stdout, stderr } = await runHere(args.map((arg) => arg.replace('@', `${folder.path}/`)))
    expect(stderr).toMatch(says)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })

  test('--verbose prints the stack of an error', async ({ folder }) => {
    folder.write({ 'bad.db': NO_DATABASE })
    const { code, stderr } = await runHere(['stats', '--url', `sqlite:${folder.at('bad.db')}`, '--verbose'])
    expect(stderr).toMatch(STACK)
    expect(code).toBe(1)
  })
})
