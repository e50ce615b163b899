import { expect, test } from 'vitest'
import { waitOf } from './wait-time.ts'

const AT = 1_700_000_000_000

test.each<[what: string, enqueued_at: unknown, wait: number | undefined]>([
  ['milliseconds', AT - 250, 250],
  ['seconds, as Sidekiq 7 and 6 write them', (AT - 250) / 1000, 250],
  ['a clock that runs ahead', AT + 5000, 0],
  ['no time', undefined, undefined],
  ['garbage', 'yesterday', undefined],
])('%s', (_, at, wait) => {
  const waited = waitOf({ class: 'J', args: [], queue: 'q', jid: 'j', enqueued_at: at as number }, AT)
  if (wait === undefined) expect(waited).toBeUndefined()
  else expect(waited).toBeCloseTo(wait, 0)
})
