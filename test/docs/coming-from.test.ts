import { expect, test } from 'vitest'
import { Example } from './example.ts'

test.each([
  ['bullmq', 'shop.ts', "[ 'a.html', 'b.html' ]\n3\n[ 'working', 'converted a.pdf', 'finished' ]\n"],
  ['sidekiq', 'tenant.ts', 'receipt of order 7 for acme\n'],
  ['pg-boss', 'shop.ts', 'welcome Ann\n'],
  ['agenda', 'reports.ts', 'report for Bob\nreport for Ann\n'],
  ['lowkiq', 'sync.ts', '7: Anne\n'],
  ['go-workers', 'sums.ts', '3\n'],
  ['own-tables', 'move.ts', '2 jobs\n'],
])('the example for people who come from %s does what it says', (origin, file, printed) => {
  expect(new Example(`docs/from-${origin}.md`, [file]).run(file)).toBe(printed)
})
