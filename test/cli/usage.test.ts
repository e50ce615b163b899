import { existsSync } from 'node:fs'
import { expect } from 'vitest'
import { test } from './command.ts'

const THROWS = `
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
function connect(): never {
  throw new Error('no connection to the catalogue')
}
connect()
`

test('a jobs file that throws prints its stack with source lines', async ({ folder }) => {
  folder.write({ 'jobs.ts': THROWS })
  const { code, stderr } = await folder.run(['work', '-r', 'jobs.ts'])
  expect(stderr).toContain("jobs.ts can't be loaded")
  expect(stderr).toContain('no connection to the catalogue')
  expect(stderr).toMatch(/at connect \(.*jobs\.ts:5:9\)/)
  expect(code).toBe(2)
})

test('a missing jobs file is exit code 2, and says which file is meant', async ({ folder }) => {
  folder.write({ 'jobs.mjs': 'export const x = 1' })
  const { code, stdout, stderr } = await folder.run(['work', '-r', 'jobs'])
  expect(stderr).toMatch(/no file .*jobs \(did you mean jobs\.mjs\?\)/)
  expect(stderr).not.toMatch(/^\s+at /m)
  expect(stdout).toBe('')
  expect(code).toBe(2)
})

test('commands that only show something do not create a database', async ({ folder }) => {
  const { code, stderr } = await folder.run(['stats'])
  expect(stderr).toContain('highkiq.db does not exist: ')
  expect(code).toBe(1)
  expect(existsSync(folder.at('highkiq.db'))).toBe(false)
})

test('a command without -r says which jobs file it did not load', async ({ folder }) => {
  folder.write({ 'jobs.mjs': 'export const x = 1' })
  const said = 'highkiq.db does not exist: jobs.mjs is here but was not loaded: add -r jobs.mjs, or set HIGHKIQ_URL'
  expect((await folder.run(['dead'])).stderr).toContain(said)
  expect((await folder.run(['cron', 'list'])).stderr).toContain(said)
  expect((await folder.run(['doctor'])).stdout.replace(/\s+/g, ' ')).toContain(said)
  expect((await folder.run(['dead', '--url', 'sqlite:other.db'])).stderr).toContain('names the wrong store')
})

test('a command that shows something says which store it used when nothing names one beside a jobs file', async ({
  folder,
}) => {
  folder.write({
    'jobs.mjs': `import { Highkiq } from 'highkiq'\nexport const hq = new Highkiq({ url: 'sqlite:shop.db' })\nhq.job('J', async () => {})\n`,
  })
  await folder.run(['enqueue', 'J', '-r', 'jobs.mjs'])
  await folder.run(['enqueue', 'J', '-r', 'jobs.mjs', '--url', 'sqlite:highkiq.db'])
  const { code, stderr } = await folder.run(['queues'])
  expect([code, stderr]).toEqual([
    0,
    'store: sqlite:highkiq.db, because neither --url nor HIGHKIQ_URL names one; -r jobs.mjs uses the store of its app\n',
  ])
  for (const named of [
    ['-r', 'jobs.mjs'],
    ['--url', 'sqlite:highkiq.db'],
  ]) {
    expect((await folder.run(['queues', ...named])).stderr).toBe('')
  }
  expect((await folder.run(['queues'], { HIGHKIQ_URL: 'sqlite:shop.db' })).stderr).toBe('')
})
