/** What the set of finished jobs shows of a job: its text, result and messages, and the start of its last attempt. */

import { editMembers, stringifyJson } from '../../job/json.ts'
import type { Payload } from '../../job/payload.ts'
import { baseQueue } from '../../job/priority.ts'
import { resultText } from '../../job/result.ts'
import type { Destination } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import { type Attempt, ownMessages } from './attempt.ts'

/** Returns where a job goes whose handler returned, and counts it as kept; null: it is not kept. */
export function finishedEntry(engine: Engine, attempt: Attempt, result: unknown): Destination | null {
  const { definition, ctx, fetched, payload, startedAt } = attempt
  const { finished } = engine
  if (ctx.task !== undefined || !finished?.keeps(definition?.own?.keepFinished, baseQueue(fetched.queue))) return null
  finished.countKept()
  const { text: stored } = resultText(result)
  const progress = ctx.progressed && JSON.stringify(ctx.progressed)
  const added = ownMessages(attempt)
  const messages = added && stringifyJson(added)
  const { text } = fetched
  const score = engine.now() / 1000
  if (!text.endsWith('}') || hasAny(payload, messages !== undefined)) {
    const edits = { hk_started: String(startedAt), hk_result: stored, hk_progress: progress }
    return { to: 'finished', text: editMembers(text, messages ? { ...edits, hk_messages: messages } : edits), score }
  }
  let members = startOf(startedAt)
  if (stored !== undefined) members += `,"hk_result":${stored}`
  if (progress !== undefined) members += `,"hk_progress":${progress}`
  if (messages !== undefined) members += `,"hk_messages":${messages}`
  return { to: 'finished', text, members, score }
}

/** Returns whether a job already has one of the members that are added to it now. */
function hasAny({ hk_started, hk_result, hk_progress, hk_messages }: Payload, getsMessages: boolean): boolean {
  if (hk_started !== undefined || hk_result !== undefined || hk_progress !== undefined) return true
  return getsMessages && hk_messages !== undefined
}

/** The last start and its member, which are kept because many jobs start in the same millisecond. */
let lastStart = { at: Number.NaN, member: '' }

function startOf(at: number): string {
  if (at !== lastStart.at) lastStart = { at, member: `,"hk_started":${at}` }
  return lastStart.member
}
