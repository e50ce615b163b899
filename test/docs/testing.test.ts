import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Example } from './example.ts'
import { runJest } from './jest.ts'
import { folderOf } from './project.ts'

test.each([
  ['jest.config.js', 'module', ['@swc']],
  ['jest.config.mjs', 'commonjs', ['ts-jest']],
] as const)(
  'the test of docs/testing.md passes with its %s in a project of type %s, and fails when the job is not pushed',
  { timeout: 300_000 },
  (config, type, compiler) => {
    const { folder } = new Example(
      'docs/testing.md',
      [config, 'mails.ts', 'mails.test.ts'],
      ['jest', '@jest', ...compiler],
    )
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }))
    const jest = folderOf('jest')
    const passed = 'Tests:       1 passed, 1 total'
    expect(runJest(folder, jest)).toMatchObject({ status: 0, stderr: expect.stringContaining(passed) })
    const another = "test('another', () => expect(WelcomeMail.jobs).toHaveLength(1))\n"
    appendFileSync(join(folder, 'mails.test.ts'), another)
    expect(runJest(folder, jest).stderr).toContain('Tests:       1 failed, 1 passed, 2 total')
  },
)
