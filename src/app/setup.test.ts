import { expect, test } from 'vitest'
import { Highkiq } from '../index.ts'
import { openStore, registerStore } from '../store/open.ts'
import { PROGRAM } from '../worker/threads/inside.ts'
import { Setup } from './setup.ts'

/** A logger that keeps its lines. */
function recorder() {
  const lines: unknown[] = []
  const keep = (...line: unknown[]) => void lines.push(line)
  return { lines, logger: { debug: keep, info: keep, warn: keep, error: keep } }
}

test('the warnings of a store have its URL without the password', async () => {
  registerStore('warning', (_url, { warn }) => {
    queueMicrotask(() => warn?.('slow'))
    return openStore('sqlite::memory:')
  })
  const { lines, logger } = recorder()
  const setup = new Setup({ logger }, () => {})
  setup.open('warning://:secret@host')
  await Promise.resolve()
  expect(lines).toEqual([['slow', { store: 'sqlite::memory:' }]])
})

test('a worker that drains a store logs its URL without the password', async () => {
  const { lines, logger } = recorder()
  const hq = new Highkiq({ url: 'sqlite::memory:', logger })
  hq[PROGRAM].drain('redis://:secret@127.0.0.1:1/3')
  await hq.close()
  expect(JSON.stringify(lines)).toContain('redis://:***@127.0.0.1:1/3')
  expect(JSON.stringify(lines)).not.toContain('secret')
})
