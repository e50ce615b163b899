import { expect, onTestFinished, test } from 'vitest'
import { Prefetch } from './prefetch.ts'

test('jobs that stayed because an earlier requeue was under way are asked for again', { timeout: 10_000 }, async () => {
  let asked = 0
  const again = new Promise<void>((resolve) => {
    const prefetch = new Prefetch(1, () => {
      if (++asked === 2) resolve()
    })
    onTestFinished(() => void prefetch.drain())
    prefetch.add({ queue: 'default', ticket: '1', text: '{}' })
  })
  await again
  expect(asked).toBe(2)
})
