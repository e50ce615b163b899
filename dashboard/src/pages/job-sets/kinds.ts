/** How the job sets differ: their actions and their order. */

import type { JobState, SearchedState } from '../../api/types.ts'
import type { IconName } from '../../components/icon.tsx'
import type { Word } from '../../i18n/index.ts'

export type SetName = 'retries' | 'scheduled' | 'dead' | 'finished'
export type ActName = 'retry' | 'addToQueue' | 'reschedule' | 'kill' | 'delete' | 'cancel'

export interface Act {
  name: ActName
  icon?: IconName
  /** The label of its button. */
  word: Word
  isRisky?: boolean
  /** Its key. */
  key?: string
  /** True when it can be applied to the whole set. */
  isForAll: boolean
}

const RETRY: Act = { name: 'retry', icon: 'retries', word: 'sets.retry', key: 'r', isForAll: true }
const KILL: Act = { name: 'kill', word: 'sets.kill', isForAll: true }
const DELETE: Act = { name: 'delete', icon: 'trash', word: 'sets.delete', key: 'D', isRisky: true, isForAll: true }
const ADD: Act = { name: 'addToQueue', icon: 'queues', word: 'sets.addToQueue', key: 'r', isForAll: true }
const CANCEL: Act = { name: 'cancel', icon: 'x', word: 'sets.cancel', key: 'D', isRisky: true, isForAll: true }
const LATER: Act = { name: 'reschedule', icon: 'scheduled', word: 'sets.later', isForAll: false }

interface Kind {
  /** The state of its jobs. */
  state: JobState
  /** Its actions, the most frequent first. */
  acts: readonly Act[]
  /** True when the latest job is listed first. */
  desc: boolean
  /** True when its jobs have failed. */
  hasErrors: boolean
}

export const KINDS: Record<SetName, Kind> = {
  retries: { state: 'retry', acts: [RETRY, LATER, KILL, DELETE], desc: false, hasErrors: true },
  scheduled: {
    state: 'scheduled',
    acts: [ADD, { ...LATER, word: 'sets.reschedule' }, DELETE],
    desc: false,
    hasErrors: false,
  },
  dead: { state: 'dead', acts: [RETRY, DELETE], desc: true, hasErrors: true },
  finished: { state: 'succeeded', acts: [ADD, DELETE], desc: true, hasErrors: false },
}

/** The actions on the jobs of each state, the most frequent first. */
export const ACTS: Record<SearchedState, readonly Act[]> = {
  scheduled: KINDS.scheduled.acts,
  retry: KINDS.retries.acts,
  limited: [DELETE],
  backlog: [CANCEL],
  queued: [DELETE],
  ordered: [DELETE],
  running: [CANCEL],
  dead: KINDS.dead.acts,
  rejected: [RETRY],
  morgue: [RETRY, DELETE],
  succeeded: KINDS.finished.acts,
  finished: [],
}

/** Returns the set that holds the jobs of a state; null for other states. */
export function setOf(state: JobState | SearchedState): SetName | null {
  const found = Object.entries(KINDS).find(([, kind]) => kind.state === state)
  return (found?.[0] as SetName | undefined) ?? null
}
