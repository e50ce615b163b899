/** Changes the locks of a unique job in the step that moves the job. */

import { type JobLock, readUnique } from '../job/unique.ts'
import type { Effect } from '../store/contract.ts'
import { goesOn, type Outcome, type Plugin } from '../worker/plugin.ts'

export const uniqueLocks: Plugin = {
  concerns: ['hk_unique'],
  effects(payload, outcome) {
    const effects = readUnique(payload).flatMap((lock) => changeOf(lock, payload.jid, outcome))
    return effects.length > 0 ? effects : undefined
  },
}

function changeOf({ until, key, ends }: JobLock, holder: string, outcome: Outcome): Effect[] {
  const isStart = outcome.kind === 'started'
  if (until === 'time' || (isStart && until === 'success')) return []
  if (isStart || !goesOn(outcome)) return [{ kind: 'release-unique', key, holder }]
  const due = outcome.kind === 'changed' && outcome.due !== undefined ? { due: outcome.due } : {}
  // A job that may have started does not get the lock back that it released when it started.
  return [
    { kind: 'keep-unique', key, holder, acquire: until !== 'start', ...(ends === undefined ? {} : { ends }), ...due },
  ]
}
