import { fileURLToPath } from 'node:url'
import type { AlertOptions } from 'highkiq'
import { expect, test } from 'vitest'
import { bench, Child } from '../engine/bench.ts'
import { receiver } from './receivers.ts'

const program = fileURLToPath(new URL('child.js', import.meta.url))

test('after a kill -9 while a message arrives, another worker sends it once more, with the same id', async () => {
  const t = bench()
  let first: Child | undefined
  const { url, got } = await receiver([0, 200], () => first?.kill('SIGKILL'))
  const alerts: AlertOptions = { to: [{ webhook: url, kinds: ['queue-unserved'] }], after: 0, every: 1 }
  await t.hq.push({ class: 'A', args: [], queue: 'imports' })
  first = new Child(t.url, { alerts }, program)
  await first.exited
  expect(got.all).toHaveLength(1)
  first = undefined
  new Child(t.url, { alerts, ahead: 20 }, program)
  const [before, after] = await got.atLeast(2)
  expect(after?.body.id).toBe(before?.body.id)
  expect(after?.body.begun).toMatchObject([{ kind: 'queue-unserved', details: { queue: 'imports' } }])
  // What was sent is stored: the next worker is silent about it, and tells of the end.
  await t.hq.queue('imports').clear()
  const [, , end, ...others] = await got.atLeast(3)
  expect(end?.body).toMatchObject({ begun: [], over: [{ kind: 'queue-unserved' }] })
  expect(others).toEqual([])
})
