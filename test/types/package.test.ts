import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

test('the packed package passes publint and attw, and works from CommonJS and TypeScript', { timeout: 300_000 }, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/check-package.js'], { encoding: 'utf8' })
  expect(`${status}\n${stdout}${stderr}`).toMatch(/^0\n/)
})
