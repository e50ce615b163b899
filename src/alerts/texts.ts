/** Words alerts, for the dashboard and for messages. */

import { encoded, queryValue } from '../inspect/page-path.ts'
import type { Alert } from './alert.ts'
import type { en } from './texts/en.ts'

/** How a reader's language and time zone write texts, times and durations. */
export interface Wording {
  t: (word: keyof typeof en, values?: Record<string, string | number>) => string
  clock: (at: Date | string) => string
  /** Words a time as seen from `now`. */
  relative: (at: Date | string) => string
  /** Returns the time in milliseconds. */
  now: () => number
  duration: (seconds: number) => string
}

/** Returns an alert in words, and the path of its page in the dashboard. */
export function textsOf(
  one: Alert<Date | string>,
  { t, clock, relative, now, duration }: Wording,
): { title: string; what: string; path: string } {
  switch (one.kind) {
    case 'retries-share-error':
      return {
        title: t('alerts.retries-share-error', { n: one.count }),
        what: t('alerts.retries-share-error.what', { error: one.error, class: one.class, at: clock(one.since) }),
        path: `/retries?cause=${queryValue(one.filter)}`,
      }
    case 'process-silent':
      return {
        title: t('alerts.process-silent', { identity: one.identity }),
        what: t(one.busy === 0 ? 'alerts.process-silent.idle' : 'alerts.process-silent.what', {
          at: relative(one.beat),
          n: one.busy,
          back: relative(new Date(now() + one.returnsIn * 1000)),
        }),
        path: '/busy',
      }
    case 'queue-grows':
      return {
        title: t('alerts.queue-grows', { queue: one.queue }),
        what: t('alerts.queue-grows.what', {
          n: Math.round(one.perMinute),
          minutes: Math.round(one.minutes),
          time: duration(one.latency),
        }),
        path: `/queues/${encoded(one.queue)}`,
      }
    case 'queue-unserved':
      return {
        title: t('alerts.queue-unserved', { queue: one.queue }),
        what: t('alerts.queue-unserved.what', { n: one.size, queue: one.queue }),
        path: `/queues/${encoded(one.queue)}`,
      }
    case 'queue-without-worker':
      return {
        title: t('alerts.queue-unserved', { queue: one.queue }),
        what: t('alerts.queue-without-worker.what', { queue: one.queue }),
        path: `/queues/${encoded(one.queue)}`,
      }
    case 'task-stands-still':
      return {
        title: t('alerts.task-stands-still', { name: one.name }),
        what: t('alerts.task-stands-still.what', { minutes: Math.round(one.minutes) }),
        path: `/tasks/${one.task}`,
      }
    case 'task-paused':
      return {
        title: t('alerts.task-paused', { name: one.name }),
        what: reasonText(one, t),
        path: `/tasks/${one.task}`,
      }
    case 'ordered-silent':
      return {
        title: t('alerts.ordered-silent', { queue: one.queue, shard: one.shard }),
        what: t('alerts.ordered-silent.what', { time: duration(one.lag) }),
        path: `/ordered/${encoded(one.queue)}`,
      }
    case 'no-process':
      return {
        title: t('alerts.no-process'),
        what: t('alerts.no-process.what', { n: one.waiting }),
        path: '/busy',
      }
    case 'shard-unreachable':
      return {
        title: t('alerts.shard-unreachable', { store: one.store }),
        what: t('alerts.shard-unreachable.what'),
        path: '/doctor',
      }
  }
}

/** Words why a task is paused or was cancelled. A text of the app is shown as it is. */
export function reasonText(
  {
    reason,
    cause,
  }: { reason?: string | null | undefined; cause?: { code: string; params: object } | null | undefined },
  t: Wording['t'],
): string {
  if (cause?.code !== 'too-many-failures') return reason ?? ''
  return t('alerts.task-paused.what', cause.params as { rejected: number; ended: number })
}
