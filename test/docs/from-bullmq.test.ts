import { expect, test } from 'vitest'
import { Example } from './example.ts'

test('the example for people who come from BullMQ does what it says', () => {
  const printed = new Example('docs/from-bullmq.md', ['shop.ts']).run('shop.ts')
  expect(printed).toBe("[ 'a.html', 'b.html' ]\n3\n[ 'working', 'converted a.pdf', 'finished' ]\n")
})
