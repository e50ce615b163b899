import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bench } from './bench.ts'
import { leaseCases } from './lease-cases.ts'

leaseCases('a SQLite file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-lease-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return `sqlite:${folder}/jobs.db`
})

test.each([0, -1, Number.NaN, '1m'])('maxBlockSeconds is a number above 0, and not %s', (wrong) => {
  const { hq } = bench({ url: 'sqlite::memory:' })
  const maxBlockSeconds = wrong as number
  expect(() => hq.worker({ maxBlockSeconds })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})
