import { expect, test } from 'vitest'
import { said } from './example.ts'

test('a copy made by an ordered queue is up to date, one made by ordinary jobs is not', {
  timeout: 300_000,
}, async () => {
  let stale = 0
  // By chance ordinary jobs may do well once.
  for (let run = 0; run < 4 && stale === 0; run++) {
    const text = await said('replicate', { EXAMPLE_PRODUCTS: '80' })
    expect(text).toContain('ordered queue: 0 of 80 products are not up to date')
    stale = Number(/ordinary jobs: (\d+) of 80/.exec(text)?.[1])
  }
  expect(stale).toBeGreaterThan(0)
})
