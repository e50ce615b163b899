/** All queues, live. */

import type { LiveQueue } from '../api/types.ts'
import type { Data } from './use-data.ts'
import { useLiveList } from './use-live-list.ts'

const nameOf = ({ name }: LiveQueue) => name

/** Names of queues rarely change. */
const NAMES_REST_MS = 30_000

export function useQueues(): Data<readonly LiveQueue[]> {
  return useLiveList<LiveQueue>('/live-queues', nameOf)
}

/** Returns the names of all queues, for filters. A new queue appears within half a minute. */
export function useQueueNames(): string[] {
  return useLiveList<LiveQueue>('/live-queues', nameOf, { restMs: NAMES_REST_MS }).data?.map(nameOf) ?? []
}
