import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runJest } from './jest.ts'
import { nestApp, testNest } from './nest.ts'

testNest('11', 'nestjs-11')

test('the test of docs/nestjs.md passes with Jest and ts-jest in a CommonJS project, and fails when no mail is sent', {
  timeout: 180_000,
}, () => {
  const folder = nestApp('nestjs-11', 'jest.config.mjs', ['app.module.ts', 'mail.ts', 'mail.test.ts'])
  writeFileSync(join(folder, 'package.json'), '{}')
  const edit = (file: string, from: string, to: string) => {
    const text = readFileSync(join(folder, 'src', file), 'utf8')
    expect(text).toContain(from)
    writeFileSync(join(folder, 'src', file), text.replace(from, to))
  }
  edit('mail.test.ts', "import { expect, test } from 'vitest'\n", '')
  const jest = join(folder, 'node_modules/jest')
  expect(runJest(folder, jest)).toMatchObject({ status: 0, stderr: expect.stringContaining('1 passed, 1 total') })
  edit('mail.ts', 'await this.mailer.send(to)', '')
  expect(runJest(folder, jest)).toMatchObject({ status: 1, stderr: expect.stringContaining('1 failed, 1 total') })
})
