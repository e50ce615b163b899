/** What needs attention: the kinds of alerts, and what is the same alert at two times. */

import { createHash } from 'node:crypto'

/** An alert. `error`: jobs do not run or fail; `failed`: they run too slowly, or wait for a person. */
export type Alert<Time = Date> =
  | {
      kind: 'retries-share-error'
      level: 'error'
      /** The message of the error, without numbers of more than five digits, ids, times and addresses. */
      error: string
      /** The `cause` of a filter that finds these retries. */
      filter: string
      class: string
      /** An estimate when there are very many retries. */
      count: number
      since: Time
    }
  | { kind: 'process-silent'; level: 'error'; identity: string; beat: Time; busy: number; returnsIn: number }
  | { kind: 'queue-grows'; level: 'failed'; queue: string; perMinute: number; minutes: number; latency: number }
  | { kind: 'queue-unserved'; level: 'error'; queue: string; size: number }
  | { kind: 'queue-without-worker'; level: 'failed'; queue: string }
  | { kind: 'task-stands-still'; level: 'failed'; task: string; name: string; minutes: number }
  | {
      kind: 'task-paused'
      level: 'failed'
      task: string
      name: string
      /** In English; `cause` is the same in no language. */
      reason: string | null
      cause: { code: string; params: Record<string, unknown> } | null
    }
  | { kind: 'ordered-silent'; level: 'failed'; queue: string; shard: number; lag: number }
  | { kind: 'no-process'; level: 'error'; waiting: number }
  /** `store`: the URL of the shard. */
  | { kind: 'shard-unreachable'; level: 'error'; store: string }

export type AlertKind = Alert['kind']

/** The smallest figures with which an alert of each kind is sent; `false` sends none. */
export interface Thresholds {
  readonly 'retries-share-error'?: false | { count?: number }
  readonly 'process-silent'?: false | { busy?: number }
  readonly 'queue-grows'?: false | { perMinute?: number; minutes?: number; latency?: number }
  readonly 'queue-unserved'?: false | { size?: number }
  readonly 'queue-without-worker'?: false
  readonly 'task-stands-still'?: false | { minutes?: number }
  readonly 'task-paused'?: false
  readonly 'ordered-silent'?: false | { lag?: number }
  readonly 'no-process'?: false | { waiting?: number }
  readonly 'shard-unreachable'?: false
}

type Figures<Of> = readonly Extract<keyof Exclude<Of, false | undefined>, string>[]

/** The figures of each kind that can have a threshold. */
export const FIGURES: { readonly [Kind in AlertKind]: Figures<Thresholds[Kind]> } = {
  'retries-share-error': ['count'],
  'process-silent': ['busy'],
  'queue-grows': ['perMinute', 'minutes', 'latency'],
  'queue-unserved': ['size'],
  'queue-without-worker': [],
  'task-stands-still': ['minutes'],
  'task-paused': [],
  'ordered-silent': ['lag'],
  'no-process': ['waiting'],
  'shard-unreachable': [],
}

export const ALERT_KINDS = Object.keys(FIGURES) as AlertKind[]

/** Returns a text of at most 60 characters that is the same for the same problem, whatever its figures. */
export function keyOf(alert: Alert<unknown>): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(subjectOf(alert)))
    .digest('hex')
  return `${alert.kind}:${hash.slice(0, 16)}`
}

function subjectOf(alert: Alert<unknown>): unknown {
  switch (alert.kind) {
    case 'retries-share-error':
      return alert.filter
    case 'process-silent':
      return alert.identity
    case 'task-stands-still':
    case 'task-paused':
      return alert.task
    case 'no-process':
      return null
    case 'shard-unreachable':
      return alert.store
    default:
      return alert.queue
  }
}
