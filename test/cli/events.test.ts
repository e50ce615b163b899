import { expect } from 'vitest'
import { test } from './command.ts'

test('events prints what happens to jobs, and ends with Ctrl-C', { timeout: 180_000 }, async ({ folder }) => {
  await folder.json('enqueue', 'J', '--in', '1h')
  const following = folder.start(['events', '--follow', '--kind', 'pushed,cancelled', '--job', 'J'])
  // Until other processes have learned of the recording, pushes may record nothing.
  while (!/pushed {4}J [0-9a-f]{24} default due .* id \d/.test(following.stdout)) {
    await folder.json('enqueue', 'J', '--in', '1h')
  }
  // The id of a line is a position for --after.
  const [, first, id] = /(pushed .*) id (\S+)\n/.exec(following.stdout) as RegExpExecArray
  const [jid] = /[0-9a-f]{24}/.exec(first as string) as RegExpExecArray
  const { jid: next } = await folder.json<{ jid: string }>('enqueue', 'J', '--in', '1h')
  const later = folder.start(['events', '--follow', '--after', id as string])
  await expect.poll(() => later.stdout).toMatch(new RegExp(`pushed .*${next}`))
  expect(later.stdout).not.toContain(jid)
  later.kill('SIGINT')
  following.kill('SIGINT')
  expect((await following.ended).code).toBe(0)
  const wrong = await folder.run(['events', '--kind', 'done'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('pushed, started, progress')
})
