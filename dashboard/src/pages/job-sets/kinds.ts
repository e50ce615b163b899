/** How the job sets differ: their actions and their order. */

import type { JobState, SearchedState } from '../../api/types.ts'
import type { IconName } from '../../components/icon.tsx'
import type { Word } from '../../i18n/index.ts'

export type SetName = 'retries' | 'scheduled' | 'dead' | 'finished'
export type ActionName = 'retry' | 'addToQueue' | 'reschedule' | 'kill' | 'delete' | 'cancel'

export interface Action {
  name: ActionName
  icon?: IconName
  /** The label of its button. */
  word: Word
  isRisky?: boolean
  /** The key that does it. */
  key?: string
  /** True when it can be applied to the whole set. */
  isForAll: boolean
}

const RETRY: Action = { name: 'retry', icon: 'retries', word: 'sets.retry', key: 'r', isForAll: true }
const KILL: Action = { name: 'kill', word: 'sets.kill', isForAll: true }
const DELETE: Action = { name: 'delete', icon: 'trash', word: 'sets.delete', key: 'D', isRisky: true, isForAll: true }
const ADD: Action = { name: 'addToQueue', icon: 'queues', word: 'sets.addToQueue', key: 'r', isForAll: true }
const CANCEL: Action = { name: 'cancel', icon: 'x', word: 'sets.cancel', key: 'D', isRisky: true, isForAll: true }
const LATER: Action = { name: 'reschedule', icon: 'scheduled', word: 'sets.later', isForAll: false }

interface Kind {
  /** The state of its jobs. */
  state: JobState
  /** Its actions, the most frequent first. */
  actions: readonly Action[]
  /** True when the latest job is listed first. */
  desc: boolean
  /** True when its jobs have failed. */
  hasErrors: boolean
}

export const KINDS: Record<SetName, Kind> = {
  retries: { state: 'retry', actions: [RETRY, LATER, KILL, DELETE], desc: false, hasErrors: true },
  scheduled: {
    state: 'scheduled',
    actions: [ADD, { ...LATER, word: 'sets.reschedule' }, DELETE],
    desc: false,
    hasErrors: false,
  },
  dead: { state: 'dead', actions: [RETRY, DELETE], desc: true, hasErrors: true },
  finished: { state: 'succeeded', actions: [ADD, DELETE], desc: true, hasErrors: false },
}

/** The actions on the jobs of each state, the most frequent first. */
export const ACTIONS: Record<SearchedState, readonly Action[]> = {
  scheduled: KINDS.scheduled.actions,
  retry: KINDS.retries.actions,
  limited: [DELETE],
  backlog: [CANCEL],
  queued: [DELETE],
  ordered: [DELETE],
  running: [CANCEL],
  dead: KINDS.dead.actions,
  rejected: [RETRY],
  morgue: [RETRY, DELETE],
  succeeded: KINDS.finished.actions,
  finished: [],
}

/** Returns the set that holds the jobs of a state; null for other states. */
export function setOf(state: JobState | SearchedState): SetName | null {
  const found = Object.entries(KINDS).find(([, kind]) => kind.state === state)
  return (found?.[0] as SetName | undefined) ?? null
}
