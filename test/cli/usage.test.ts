import { existsSync } from 'node:fs'
import { describe, expect } from 'vitest'
import { test } from './command.ts'

const JOBS = "import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq()\nhq.job('HardJob', async () => {})\n"

const THROWS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
function connect(): never {
  throw new Error('no connection to the catalogue')
}
connect()
`

const NO_DATABASE = 'no database '.repeat(100)

/** Any line of a stack. */
const STACK = /^\s+at /m

describe.concurrent('wrong usage is exit code 2, and says what would be right', () => {
  test.for<[name: string, args: string[], says: RegExp]>([
    ['a misspelt command', ['wrok'], /unknown command 'wrok'\s+\(Did you mean work\?\)/],
    ['a misspelt flag', ['work', '--concurency', '5'], /'--concurency'\s+\(Did you mean --concurrency\?\)/],
    ['a value of the wrong kind', ['work', '-c', 'many', '-r', 'jobs.mjs'], /--concurrency .*'many'.*whole number/],
    ['a missing file', ['work', '-r', 'jobs'], /no file .*jobs \(did you mean jobs\.mjs\?\)/],
    [
      'a file without an app',
      ['work', '-r', 'none.mjs'],
      /none\.mjs must export an app.*export const hq = new Highkiq\(\)/,
    ],
    ['a file with two apps', ['work', '-r', 'two.mjs'], /two\.mjs must export only one app/],
    ['a job that the file does not define', ['enqueue', 'HrdJob', '-r', 'jobs.mjs'], /"HrdJob"; defined here: HardJob/],
    ['an unknown store', ['enqueue', 'HardJob', '--url', 'foo:bar'], /"foo:bar" is not a store URL/],
  ])('%s', async ([_, args, says], { folder }) => {
    folder.write({
      'jobs.mjs': JOBS,
      'none.mjs': 'export const x = 1',
      'two.mjs': "import { Highkiq } from 'highkiq'\nexport const a = new Highkiq(), b = new Highkiq()",
    })
    const { code, stdout, stderr } = await folder.run(args)
    expect(stderr).toMatch(says)
    expect(stderr).not.toMatch(STACK)
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  test('a jobs file that throws prints its stack with source lines', async ({ folder }) => {
    folder.write({ 'jobs.ts': THROWS })
    const { code, stderr } = await folder.run(['work', '-r', 'jobs.ts'])
    expect(stderr).toContain("jobs.ts can't be loaded")
    expect(stderr).toContain('no connection to the catalogue')
    expect(stderr).toMatch(/at connect \(.*jobs\.ts:5:9\)/)
    expect(code).toBe(2)
  })

  test('all commands are listed in groups', async ({ folder }) => {
    const { code, stdout } = await folder.run(['--help'])
    expect(stdout).toMatch(/^Run and push:\n {2}work .*^Show:\n {2}stats /ms)
    expect(code).toBe(0)
  })

  test('--help exits with 0', async ({ folder }) => {
    const { code, stdout } = await folder.run(['work', '--help'])
    expect(stdout).toContain('highkiq work -r jobs.ts -c 25')
    expect(code).toBe(0)
  })
})

describe.concurrent('a store that can not be used is exit code 1 and one line', () => {
  test.for<[name: string, args: string[], says: RegExp]>([
    [
      'pushing to a file that is not a database',
      ['enqueue', 'HardJob', '--url', 'sqlite:bad.db'],
      /bad\.db: this file is not a database/,
    ],
    ['working on it', ['work', '-r', 'jobs.mjs', '--url', 'sqlite:bad.db'], /bad\.db: this file is not a database/],
    ['a missing folder', ['enqueue', 'HardJob', '--url', 'sqlite:no/x.db'], /no\/x\.db: can't be opened/],
  ])('%s', async ([_, args, says], { folder }) => {
    folder.write({ 'jobs.mjs': JOBS, 'bad.db': NO_DATABASE })
    const { code, stdout, stderr } = await folder.run(args)
    expect(stderr).toMatch(says)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(stdout).toBe('')
    expect(code).toBe(1)
  })

  test('--verbose prints the stack of an error', async ({ folder }) => {
    folder.write({ 'bad.db': NO_DATABASE })
    const { code, stderr } = await folder.run(['stats', '--url', 'sqlite:bad.db', '--verbose'])
    expect(stderr).toMatch(STACK)
    expect(code).toBe(1)
  })

  test('commands that only show something do not create a database', async ({ folder }) => {
    const { code, stderr } = await folder.run(['stats'])
    expect(stderr).toContain('highkiq.db does not exist: ')
    expect(code).toBe(1)
    expect(existsSync(folder.at('highkiq.db'))).toBe(false)
  })
})
