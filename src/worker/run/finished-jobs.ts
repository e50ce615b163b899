/** What the set of finished jobs shows of a job: its text, result and messages, and the start of its last attempt. */

import { editMembers, stringifyJson } from '../../job/json.ts'
import type { Payload } from '../../job/payload.ts'
import { baseQueue } from '../../job/priority.ts'
import { resultText } from '../../job/result.ts'
import type { Destination } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import { type Attempt, ownMessages } from './attempt.ts'

/** Returns where a job goes whose handler returned; null: it is not kept. */
export function finishedEntry(engine: Engine, attempt: Attempt, result: unknown): Destination | null {
  const { definition, ctx, fetched, payload, startedAt } = attempt
  if (ctx.task !== undefined || !engine.finished?.keeps(definition?.own?.keepFinished, baseQueue(fetched.queue))) {
    return null
  }
  const messages = ownMessages(attempt)
  const members: Members = {
    hk_started: String(startedAt),
    hk_result: resultText(result).text,
    hk_progress: ctx.progressed && JSON.stringify(ctx.progressed),
  }
  if (messages) members.hk_messages = stringifyJson(messages)
  const { text } = fetched
  const score = engine.now() / 1000
  const areNew = text.endsWith('}') && !hasAny(payload, members)
  return areNew
    ? { to: 'finished', text, members: joined(members), score }
    : { to: 'finished', text: editMembers(text, members), score }
}

/** Members of a finished job: their values as JSON, or undefined where the job gets none. */
type Members = Record<'hk_started' | 'hk_result' | 'hk_progress', string | undefined> & { hk_messages?: string }

/** Returns whether a job has one of the members already. */
function hasAny({ hk_started, hk_result, hk_progress, hk_messages }: Payload, members: Members): boolean {
  if (hk_started !== undefined || hk_result !== undefined || hk_progress !== undefined) return true
  return hk_messages !== undefined && members.hk_messages !== undefined
}

/** Returns members to append to a text. The values are JSON. */
function joined(members: Members): string {
  let text = ''
  for (const name in members) {
    const value = members[name as keyof Members]
    if (value !== undefined) text += `,"${name}":${value}`
  }
  return text
}
