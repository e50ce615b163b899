import { spawnSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'
import { folderOf } from './project.ts'

test('the test that the page shows for Jest passes, and fails when the job is not pushed', { timeout: 300_000 }, () => {
  const files = ['jest.config.js', 'mails.ts', 'mails.test.ts']
  const example = new Example('docs/testing.md', files, ['jest', '@jest', '@swc'])
  const runs = () => {
    const { NODE_ENV: _, VITEST: __, ...env } = process.env
    const options = { ...env, NODE_OPTIONS: '--experimental-vm-modules', FORCE_COLOR: '0' }
    const jest = join(folderOf('jest'), 'bin/jest.js')
    return spawnSync(process.execPath, [jest, '--ci'], { cwd: example.folder, encoding: 'utf8', env: options })
  }
  const { status, stderr } = runs()
  expect(stderr).toContain('Tests:       1 passed, 1 total')
  expect(status).toBe(0)
  appendFileSync(
    join(example.folder, 'mails.test.ts'),
    "test('another', () => expect(WelcomeMail.jobs).toHaveLength(1))\n",
  )
  expect(runs().stderr).toContain('Tests:       1 failed, 1 passed, 2 total')
})
