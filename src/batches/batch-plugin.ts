/** Changes the batch of a job in the step that moves the job. */

import { messageOf } from '../job/errors.ts'
import { isBid, type Payload } from '../job/payload.ts'
import { resultText } from '../job/result.ts'
import type { BatchNote, MemberChange } from '../store/contract.ts'
import type { Outcome, Plugin } from '../worker/plugin.ts'

export const batchMembers: Plugin = {
  concerns: ['bid'],
  effects(payload, outcome) {
    const { bid, jid: member } = payload
    // Another program may have written a jid that is not a string.
    if (!isBid(bid) || typeof member !== 'string') return undefined
    const change = changeOf(outcome)
    return change && [{ kind: 'batch', bid, member, change, note: noteOf(payload, outcome, change) }]
  },
}

function changeOf(outcome: Outcome): MemberChange | undefined {
  switch (outcome.kind) {
    case 'done':
      return 'succeeded'
    case 'retry':
      return 'retrying'
    case 'dead':
      return outcome.isDeleted ? 'died' : 'dead'
    case 'crashed-out':
    case 'killed':
      return 'dead'
    case 'business-failure':
    case 'discarded':
    case 'filtered':
    case 'deleted':
    case 'cancelled':
    case 'expired':
      return 'failed'
    case 'added-to-queue':
      return 'waiting'
    case 'snoozed':
    case 'released':
    case 'paused':
    case 'interrupted':
    case 'not-started':
    case 'rescued':
    case 'changed':
      return 'moved'
    default:
      return undefined
  }
}

/** Returns what the parent in a flow reads about this child. */
function noteOf({ hk_child }: Payload, outcome: Outcome, change: MemberChange): BatchNote | undefined {
  if (typeof hk_child !== 'number' || change === 'retrying' || change === 'waiting' || change === 'moved')
    return undefined
  return { key: String(hk_child), text: textOf(outcome) }
}

function textOf(outcome: Outcome): string {
  if (outcome.kind === 'done') {
    const { text, problem } = resultText(outcome.result)
    if (problem !== undefined) return JSON.stringify({ problem })
    return text === undefined ? '{}' : `{"result":${text}}`
  }
  if (!('error' in outcome)) return JSON.stringify({ failed: { message: `the job was ${outcome.kind}` } })
  const { code } = (outcome.error ?? {}) as { code?: unknown }
  const failed = { message: messageOf(outcome.error).slice(0, 1000) }
  return JSON.stringify({ failed: typeof code === 'string' ? { ...failed, code } : failed })
}
