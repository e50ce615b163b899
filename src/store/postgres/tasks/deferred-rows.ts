/** Rows that are ended from outside: their deferral, their end, and their deadlines. */

import { splitTaskJid, taskJid } from '../../../job/payload.ts'
import type { Deferral, DeferredAnswer, DeferredEnd, EventStatus } from '../../contract.ts'
import { dropsArgs, type EventState, isStopped, STATUS_CODE, STATUS_NAME } from '../../sql/task-row.ts'
import { Deferrals } from '../ledgers/deferrals.ts'
import { codeOf, type Ledgers } from '../ledgers/ledgers.ts'
import type { TaskLedger } from '../ledgers/task-ledger.ts'
import { Tables } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

export const UNKNOWN_ROW: DeferredAnswer = { answer: 'unknown', status: null, code: null }

export class DeferredRows extends Tables {
  readonly #deferrals = this.db.get(Deferrals)

  async defer(ledgers: Ledgers, ledger: TaskLedger, row: Deferral): Promise<'ok' | 'superseded' | 'unknown'> {
    const { jid, run, attempt, at, until } = row
    const event = await ledgers.event(ledger, splitTaskJid(jid).index)
    if (!event) return 'unknown'
    if (isStopped(ledger.task)) return 'superseded'
    const hasBegun = event.run === run && event.step === attempt * 2 && event.status === STATUS_CODE.working
    const start = { kind: 'event', jid, run, attempt, at, status: 'working', window: 'keep' } as const
    if (!hasBegun && (await ledgers.apply([start])) === 'superseded') return 'superseded'
    await this.#deferrals.put(ledger.task, event, attempt, until)
    return 'ok'
  }

  async end(ledgers: Ledgers, ledger: TaskLedger, end: DeferredEnd, now: number): Promise<DeferredAnswer> {
    const { task } = ledger
    const event = await ledgers.event(ledger, splitTaskJid(end.jid).index)
    if (!event) return UNKNOWN_ROW
    const isOpen = event.status < STATUS_CODE.finished
    if (!isOpen || !(await this.#mayEnd(ledger, event, end, now))) {
      if (end.isOverdue && !(await this.#isExtended(ledger, event, now)))
        await this.#deferrals.dropDeadline(task, event)
      return answerOf(event, isOpen ? 'not-deferred' : 'ended')
    }
    await this.#deferrals.end(task, event)
    ledgers.become(ledger, event, end.status, codeOf(end.code))
    ledgers.leave(ledger, event)
    event.step = event.step | 1
    event.finished_at = now
    event.result = end.result ?? null
    event.drop = dropsArgs(task, end.status)
    ledgers.addMessages(task.key, event.idx, end.messages)
    return answerOf(event, 'ok')
  }

  async overdue(now: number, limit: number): Promise<string[]> {
    return (await this.db.all<{ id: string; idx: number }>(sql.deferral.overdue, now, limit)).map(({ id, idx }) =>
      taskJid(id, idx),
    )
  }

  async #mayEnd({ task }: TaskLedger, event: EventState, { isOverdue }: DeferredEnd, now: number): Promise<boolean> {
    const found = await this.#deferrals.find(task, event)
    if (!found || !isOverdue) return found !== undefined
    const isInAttempt = event.status === STATUS_CODE.working && event.step >> 1 === found.attempt
    return isInAttempt && found.ends !== null && found.ends <= now
  }

  /** Returns whether another attempt has moved the deadline since the caller read it. */
  async #isExtended({ task }: TaskLedger, event: EventState, now: number): Promise<boolean> {
    return ((await this.#deferrals.find(task, event))?.ends ?? 0) > now
  }
}

function answerOf({ status, code }: EventState, answer: DeferredAnswer['answer']): DeferredAnswer {
  return { answer, status: STATUS_NAME[status] as EventStatus, code }
}
