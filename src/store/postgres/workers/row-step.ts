/** Steps of workers in which rows of tasks begin, finish or fail: one statement each, beside those of other workers. */

import { rowMembers, splitTaskJid } from '../../../job/payload.ts'
import type { Effect, EventEffect, Message, SettleAndFetch, SettleAndFetchAnswer } from '../../contract.ts'
import { STATUS_CODE } from '../../sql/task-row.ts'
import { codeOf } from '../ledgers/ledgers.ts'
import { FIRST_MESSAGES, LAST_MESSAGES } from '../ledgers/save.ts'
import { ticketsOf } from '../queues/tickets.ts'
import { columns } from '../server/columns.ts'
import type { StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { answerOf, type Row, valuesOf } from './plain-step.ts'

/** A template with times in seconds. */
const IN_SECONDS = '{"enqueued_at":0.0}'

export function isRowStep({ started, settlements }: SettleAndFetch): boolean {
  return (
    started.every(({ effects }) => effects.every(isBeginning)) &&
    settlements.every(
      ({ move, also, processed, effects = [] }) =>
        move === null && !also?.length && processed === 1 && effects.every(isEnd),
    )
  )
}

function isBeginning(effect: Effect): boolean {
  return effect.kind === 'event' && effect.status === 'working' && effect.window === 'keep' && !effect.messages?.length
}

function isEnd(effect: Effect): boolean {
  return (
    effect.kind === 'event' && (effect.status === 'finished' || effect.status === 'failed') && effect.window === 'leave'
  )
}

/** Resolves with undefined, and changes nothing, if the step needs more than that. */
export async function rowStep(
  server: StoreServer,
  owner: string,
  request: SettleAndFetch,
  fetchNumber: number,
): Promise<SettleAndFetchAnswer | undefined> {
  const { started, settlements, now } = request
  const tickets = ticketsOf(settlements)
  if (tickets.all.length < settlements.length) return undefined
  const begun = started.flatMap(({ effects }) => effects) as EventEffect[]
  const done = settlements.flatMap(({ effects = [] }) => effects) as EventEffect[]
  const said = done.flatMap(({ jid, messages = [] }) => messages.map((message) => ({ jid, message })))
  const rows = await server.runOne((db) =>
    db.all<Row>(
      sql.queue.stepRows,
      ...valuesOf(server, owner, request, tickets, fetchNumber),
      now,
      settlements.filter(({ failed }) => failed > 0).length,
      ['{}', IN_SECONDS].map((template) => rowMembers({ template, task: '', now }).end),
      ...columns(begun, taskOf, indexOf, ...ATTEMPT),
      ...columns(done, taskOf, indexOf, ...ATTEMPT, ...END),
      ...columns(said, taskOf, indexOf, ...MESSAGE),
      FIRST_MESSAGES,
      LAST_MESSAGES,
    ),
  )
  if (rows[0]?.kind === 'other') return undefined
  const refilled = rows.flatMap(({ kind, queue }) => (kind === 'refilled' ? [queue] : []))
  if (refilled.length > 0) await server.notify(refilled)
  return answerOf(request, tickets, fetchNumber, rows)
}

const taskOf = ({ jid }: { jid: string }) => splitTaskJid(jid).id
const indexOf = ({ jid }: { jid: string }) => splitTaskJid(jid).index

const ATTEMPT = [
  ({ run }: EventEffect) => run,
  ({ attempt, status }: EventEffect) => attempt * 2 + (status === 'working' ? 0 : 1),
  ({ at }: EventEffect) => at,
] as const
const END = [
  ({ startedAt }: EventEffect) => startedAt ?? null,
  ({ status }: EventEffect) => STATUS_CODE[status],
  ({ code }: EventEffect) => codeOf(code),
  ({ result }: EventEffect) => result ?? null,
] as const
const MESSAGE = [
  ({ message }: { message: Message }) => message.at,
  ({ message }: { message: Message }) => message.code,
  ({ message }: { message: Message }) => JSON.stringify(message.params),
] as const
