/** Schemas of cron entries. */

import * as s from './building-blocks.ts'

export const CronEntry = s.object({
  name: s.text,
  spec: s.text,
  timeZone: s.text,
  job: s.text,
  queue: s.orNull(s.text),
  args: s.described(s.orNull(s.anyList), 'redacted; null when a function of the app makes them'),
  missed: s.oneOf(['skip', 'once', 'all']),
  overlap: s.oneOf(['allow', 'skip']),
  paused: s.boolean,
  defined: s.described(s.boolean, 'whether a live process defines the entry; without one it does not run'),
  lastAt: s.orNull(s.time),
  lastJid: s.orNull(s.text),
  runs: s.described(
    s.list(
      s.object({
        jid: s.text,
        tick: s.described(s.orNull(s.time), 'null: it was pushed off schedule'),
        pushedAt: s.time,
        state: s.described(
          s.oneOf(['waiting', 'running', 'retrying', 'succeeded', 'failed', 'dead', 'cancelled']),
          'failed: a business failure, or discarded',
        ),
        startedAt: s.described(s.orNull(s.time), 'of the last attempt'),
        endedAt: s.described(s.orNull(s.time), 'of the last attempt'),
      }),
    ),
    'the newest 20, newest first',
  ),
  nextAt: s.orNull(s.time),
  next: s.described(s.list(s.time), 'the next five ticks, ignoring a pause'),
})
export const CronEntryList = s.pageOf(CronEntry)
