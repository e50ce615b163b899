/** Schemas of limits and of the locks of unique jobs. */

import * as v from 'valibot'
import * as s from './building-blocks.ts'

export const UniqueLock = s.object({
  key: s.text,
  jid: s.text,
  endsAt: s.described(s.orNull(s.time), 'null: when its job has ended'),
  outlivesJob: s.described(s.boolean, 'held until endsAt, also when its job has ended before'),
})
export const UniqueLockList = s.pageOf(UniqueLock)

const figure = {
  concurrency: s.described(s.orNull(s.positive), 'the jobs that run at the same time at most'),
  rate: s.described(s.orNull(s.positive), 'the jobs that start within `per` at most'),
  per: s.described(s.orNull(s.amount), 'seconds'),
  burst: s.orNull(s.positive),
}

export const LimitInfo = s.object({
  id: s.described(s.text, 'the limit without its key, as the routes take it: `app`, `queue:mail`, `job:Charge`'),
  kind: s.limitKind,
  name: s.described(s.text, 'of the job, of the limit or of the queue'),
  position: s.described(s.positive, 'of a limit among those of its job; 1 for the other kinds'),
  key: s.described(s.orNull(s.text), 'null: the limit has no keys'),
  ...figure,
  window: s.orNull(s.oneOf(['fixed', 'sliding'])),
  used: s.described(s.count, 'jobs that have a slot'),
  waiting: s.described(s.count, 'jobs that wait for room'),
  nextStart: s.described(s.orNull(s.amount), 'seconds until a rate lets one more job start'),
  set: s.described(s.orNull(s.object(figure)), 'the numbers that were set'),
  code: s.described(
    s.orNull(s.object(figure)),
    'the numbers of the code, when others were set and the limit is in use',
  ),
})
export const LimitList = s.pageOf(LimitInfo)

const setNumber = s.optional(s.must(s.orNull(s.positive), 'a whole number above 0, or null for that of the code'))
export const LimitSettings = s.object({
  concurrency: setNumber,
  rate: setNumber,
  per: s.optional(s.must(v.union([s.number, s.text]), "a time in seconds, or as in '1m'")),
  burst: setNumber,
})
