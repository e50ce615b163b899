/** All queues, live. */

import type { LiveQueue } from '../api/types.ts'
import type { Data } from './use-data.ts'
import { useLiveList } from './use-live-list.ts'

const nameOf = ({ name }: LiveQueue) => name

export function useQueues(): Data<readonly LiveQueue[]> {
  return useLiveList<LiveQueue>('/live-queues', nameOf)
}

/** Returns the names of all queues, for filters. */
export function useQueueNames(): string[] {
  return useQueues().data?.map(nameOf) ?? []
}
