/** What the set of finished jobs shows of a job: its text, result and messages, and the start of its last attempt. */

import { editMembers, stringifyJson } from '../../job/json.ts'
import { baseQueue } from '../../job/priority.ts'
import { resultText } from '../../job/result.ts'
import type { Destination } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import { type Attempt, ownMessages } from './attempt.ts'

/** Returns where a job goes whose handler returned; null: it is not kept. */
export function finishedEntry(engine: Engine, attempt: Attempt, result: unknown): Destination | null {
  const { definition, ctx, fetched, startedAt } = attempt
  if (ctx.task !== undefined || !engine.finished?.keeps(definition?.own?.keepFinished, baseQueue(fetched.queue))) {
    return null
  }
  const messages = ownMessages(attempt)
  const text = withEnd(fetched.text, {
    hk_started: String(startedAt),
    hk_result: resultText(result).text,
    hk_progress: ctx.progressed && JSON.stringify(ctx.progressed),
    ...(messages && { hk_messages: stringifyJson(messages) }),
  })
  return { to: 'finished', text, score: engine.now() / 1000 }
}

/** Sets members of a job's text; it appends new ones, which is faster. The values are JSON; undefined removes a member. */
function withEnd(text: string, members: Record<string, string | undefined>): string {
  const entries = Object.entries(members)
  // The search is for the bare name: with a quote before it, it takes six times as long, because JSON has many quotes.
  if (!text.endsWith('}') || entries.some(([name]) => text.includes(name))) return editMembers(text, members)
  let more = ''
  for (const [name, value] of entries) if (value !== undefined) more += `,"${name}":${value}`
  return `${text.slice(0, -1)}${more}}`
}
