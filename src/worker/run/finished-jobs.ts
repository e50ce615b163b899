/** What the set of finished jobs shows of a job: its text, with its result and the start of its last attempt. */

import { editMembers } from '../../job/json.ts'
import { baseQueue } from '../../job/priority.ts'
import { resultText } from '../../job/result.ts'
import type { Destination } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from './attempt.ts'

/** Returns where a job goes whose handler returned; null: it is not kept. */
export function finishedEntry(engine: Engine, attempt: Attempt, result: unknown): Destination | null {
  const { definition, ctx, fetched, startedAt } = attempt
  if (ctx.task !== undefined || !engine.finished?.keeps(definition?.own?.keepFinished, baseQueue(fetched.queue))) {
    return null
  }
  const { text: kept } = resultText(result)
  const progress = ctx.progressed && JSON.stringify(ctx.progressed)
  return { to: 'finished', text: withEnd(fetched.text, startedAt, kept, progress), score: engine.now() / 1000 }
}

/** Appends the members, because reading all others takes longer. `result` and `progress` are JSON. */
function withEnd(text: string, startedAt: number, result: string | undefined, progress: string | undefined): string {
  // JSON has many quotes: a search for a text that begins with one takes six times as long.
  const isNew = !text.includes('hk_started') && !text.includes('hk_result')
  if (text.endsWith('}') && isNew && (progress === undefined || !text.includes('hk_progress'))) {
    const more = `${result === undefined ? '' : `,"hk_result":${result}`}${progress ? `,"hk_progress":${progress}` : ''}`
    return `${text.slice(0, -1)},"hk_started":${startedAt}${more}}`
  }
  return editMembers(text, { hk_started: String(startedAt), hk_result: result, hk_progress: progress })
}
