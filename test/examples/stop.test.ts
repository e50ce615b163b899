import { expect, test } from 'vitest'
import { Example } from './example.ts'

test.for(['export', 'import-workbook', 'sign-up'])(
  'Ctrl-C, which npm sends on to an app that has it already, stops the example %s in order',
  async (name) => {
    const example = new Example(name, { EXAMPLE_ROWS: '50', HIGHKIQ_LOG_LEVEL: 'info' })
    await example.url
    expect(await example.ended()).toMatch(/\bstopping\b[\s\S]*\bstopped\b/)
  },
)
