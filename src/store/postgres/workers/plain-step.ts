/** Steps of workers that only end jobs without effects and fetch: one statement each, beside those of other workers. */

import { fencedAnswer } from '../../contract/fenced-answer.ts'
import type { FetchedJob, SettleAndFetch, SettleAndFetchAnswer, Settlement } from '../../contract.ts'
import { queueAt } from '../queues/queues.ts'
import { type Tickets, ticketOf, ticketsOf } from '../queues/tickets.ts'
import type { StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

export interface Row {
  kind: 'owner' | 'settled' | 'fetched' | 'refilled' | 'other'
  queueId: number
  position: number
  queue: string
  text: string
}

export function isPlainStep({ started, settlements }: SettleAndFetch): boolean {
  return started.length === 0 && settlements.every(isDone)
}

function isDone(settlement: Settlement): boolean {
  return isEnded(settlement) && settlement.failed === 0 && !settlement.effects?.length
}

/** Returns whether a job has run and is over, and nothing but its effects comes of it. */
export function isEnded({ move, also, processed }: Settlement): boolean {
  return move === null && !also?.length && processed === 1
}

export async function plainStep(
  server: StoreServer,
  owner: string,
  request: SettleAndFetch,
  fetchNumber: number,
): Promise<SettleAndFetchAnswer> {
  const tickets = ticketsOf(request.settlements)
  const rows = await server.runOne((db) =>
    db.all<Row>(sql.queue.stepPlain, ...valuesOf(server, owner, request, tickets, fetchNumber)),
  )
  return answerOf(request, tickets, fetchNumber, rows)
}

/** Returns the values that a statement of a step begins with. */
export function valuesOf(
  server: StoreServer,
  owner: string,
  { now, fetch: { queues, n } }: SettleAndFetch,
  ended: Tickets,
  fetchNumber: number,
) {
  const today = new Date(now).toISOString().slice(0, 10)
  const most = queues.length > 0 ? n : 0
  return [
    server.lock,
    owner,
    ended.queues,
    ended.positions,
    ended.fetchNumbers,
    today,
    queues,
    most,
    fetchNumber,
  ] as const
}

/** Returns the answer of a step from the rows of its statement; without a row, the owner has no lease. */
export function answerOf(
  request: SettleAndFetch,
  { all }: Tickets,
  fetchNumber: number,
  rows: readonly Row[],
): SettleAndFetchAnswer {
  const first = rows.find(({ kind }) => kind === 'owner')
  if (!first) return fencedAnswer(request)
  const fetched = rows.flatMap(({ kind, queue, queueId, position, text }): FetchedJob[] =>
    kind === 'fetched'
      ? [{ queue: queueAt(queue, position), ticket: ticketOf({ queue: queueId, position, fetchNumber }), text }]
      : [],
  )
  const areAll = first.position === all.length
  const there = rows.flatMap(({ kind, position }) => (kind === 'settled' ? [all[position - 1] as string] : []))
  const ended = new Set(areAll ? all : there)
  // A ticket that is named twice in a call is settled once.
  const settled = request.settlements.map(({ ticket }) => (ended.delete(ticket) ? 'ok' : 'fenced'))
  return { fenced: false, started: request.started.map(() => 'ok'), settled, fetched, cancellations: first.queueId }
}
