import { expect } from 'vitest'
import { test } from './command.ts'

test('a queue is paused and resumed, and the table of queues shows it', { timeout: 60_000 }, async ({ folder }) => {
  await folder.run(['enqueue', 'J'])
  await folder.run(['enqueue', 'J', '--queue', 'low'])
  expect(await folder.run(['pause', 'low'])).toMatchObject({
    code: 0,
    stdout: 'low is paused; to resume: highkiq resume low\n',
  })
  const { stdout } = await folder.run(['queues'])
  expect(stdout).toMatch(/^low +1 .*paused$/m)
  expect(stdout).not.toMatch(/^default .*paused/m)
  expect(await folder.json('queues')).toMatchObject([
    { name: 'default', paused: false },
    { name: 'low', paused: true },
  ])
  expect(await folder.json('resume', 'low')).toEqual({ queue: 'low', paused: false })
  expect((await folder.run(['queues'])).stdout).not.toContain('paused')
  const { stdout: unknown } = await folder.run(['pause', 'lwo'])
  expect(unknown).toMatch(/^lwo is paused; .*\nno worker serves lwo, and it has no jobs: check its name/)
  expect((await folder.run(['queues'])).stdout).toMatch(/^lwo +0 .*paused$/m)
  // A Ruby program may have made a queue of such a name; none has no name.
  expect(await folder.run(['pause', 'a b'])).toMatchObject({ code: 0 })
  expect(await folder.run(['pause', ''])).toMatchObject({ code: 2, stderr: expect.stringContaining('queue name') })
})
