import { once } from 'node:events'
import { expect, test } from 'vitest'
import { PackedProject, written } from './packed.ts'

const FILES = ['jobs.ts', 'push.ts', 'prices.csv', 'jobs.test.ts', 'jobs.cjs', 'push.cjs']

test('each step of the first hour does what its page says, with the packed package', { timeout: 300_000 }, async () => {
  const project = new PackedProject('docs/start.md', FILES)
  expect(project.run('npx tsx push.ts')).toMatchObject({ status: 0 })
  const { stdout: stats } = project.run('npx highkiq stats')
  expect(stats).toMatch(/^enqueued +1$/m)
  expect(stats).toMatch(/^scheduled +1$/m)

  const worker = project.start('npx highkiq work -r jobs.ts')
  await written(worker, /"name":"ann".*welcome sent/)
  const carl = written(worker, /"name":"carl".*welcome sent/)
  expect(project.run(`npx highkiq enqueue Welcome '"carl"' -r jobs.ts`)).toMatchObject({ status: 0 })
  await carl

  const unknown = written(worker, /UNKNOWN_JOB|no job Welcom/i)
  expect(project.run(`npx highkiq enqueue Welcom '"dora"'`)).toMatchObject({ status: 0 })
  await unknown
  await expect
    .poll(() => project.run('npx highkiq retries').stdout)
    .toContain('no job named "Welcom" is defined in this process')
  expect(project.run('npx highkiq retries delete --all --yes')).toMatchObject({ status: 0 })
  worker.kill('SIGTERM')
  expect(await once(worker, 'exit')).toEqual([0, null])

  const dashboard = project.start('npx highkiq web -r jobs.ts', '--port 0')
  await written(dashboard, /The dashboard of sqlite:highkiq.db is at/)
  dashboard.kill('SIGTERM')

  const imported = project.run('npx highkiq import prices.csv --job SavePrice -r jobs.ts --work --report rejected.csv')
  expect(imported).toMatchObject({ status: 3 })
  expect(project.read('rejected.csv').trim().split('\n')).toHaveLength(3)

  expect(project.run('npx vitest run')).toMatchObject({ status: 0 })
  const commonJs = project.start('npx highkiq work -r jobs.cjs')
  const eve = written(commonJs, /"name":"eve".*welcome sent/)
  expect(project.run('node push.cjs')).toMatchObject({ status: 0, stderr: '' })
  await eve
  commonJs.kill('SIGTERM')
  expect(await once(commonJs, 'exit')).toEqual([0, null])
  const { stdout: examined } = project.run('npx highkiq doctor')
  expect(examined).toMatch(/^ok +store: sqlite:/)
  expect(examined).toMatch(/\nsqlite:highkiq\.db: nothing was found\n$/)
  const deployed = project.start('node_modules/.bin/highkiq work -r jobs.ts --concurrency 20')
  await written(deployed, /"concurrency":20/)
  deployed.kill('SIGTERM')
  expect(await once(deployed, 'exit')).toEqual([0, null])
})
