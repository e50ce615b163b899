/** Steps of workers that only end jobs without effects and fetch: one statement each, beside those of other workers. */

import type { FetchedJob, SettleAndFetch, SettleAndFetchAnswer, Settlement } from '../../contract.ts'
import { parseTicket, queueAt, ticketOf } from '../queues/queues.ts'
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
): Promise<SettleAndFetchAnswer> {
  const tickets = ownTickets(request)
  const rows = await server.runOne((db) =>
    db.all<Row>(sql.queue.stepPlain, ...valuesOf(server, owner, request, tickets)),
  )
  return answerOf(request, tickets, rows)
}

/** The tickets of the settlements, each once, and where they are. */
interface Tickets {
  own: Set<string>
  queues: number[]
  positions: number[]
}

export function ownTickets({ settlements }: SettleAndFetch): Tickets {
  const own = new Set(settlements.map(({ ticket }) => ticket))
  const queues: number[] = []
  const positions: number[] = []
  for (const ticket of own) {
    const { queue, position } = parseTicket(ticket)
    // A malformed ticket such as `1:02` parses like `1:2`.
    if (ticketOf(queue, position) !== ticket || !Number.isSafeInteger(queue) || !Number.isSafeInteger(position)) {
      own.delete(ticket)
    } else {
      queues.push(queue)
      positions.push(position)
    }
  }
  return { own, queues, positions }
}

/** Returns the values that a statement of a step begins with. */
export function valuesOf(server: StoreServer, owner: string, { now, fetch }: SettleAndFetch, tickets: Tickets) {
  const today = new Date(now).toISOString().slice(0, 10)
  const most = fetch.queues.length > 0 ? fetch.n : 0
  return [server.lock, owner, tickets.queues, tickets.positions, today, fetch.queues, most] as const
}

/** Returns the answer of a step from the rows of its statement; without a row, the owner has no lease. */
export function answerOf(
  { started, settlements }: SettleAndFetch,
  { own, queues }: Tickets,
  rows: readonly Row[],
): SettleAndFetchAnswer {
  const first = rows.find(({ kind }) => kind === 'owner')
  if (!first) {
    return {
      fenced: true,
      started: started.map(() => 'superseded'),
      settled: settlements.map(() => 'fenced'),
      fetched: [],
      cancellations: 0,
    }
  }
  const fetched = rows.flatMap(({ kind, queue, queueId, position, text }): FetchedJob[] =>
    kind === 'fetched' ? [{ queue: queueAt(queue, position), ticket: ticketOf(queueId, position), text }] : [],
  )
  const areAll = first.position === queues.length
  const there = rows.flatMap(({ kind, queueId, position }) => (kind === 'settled' ? [ticketOf(queueId, position)] : []))
  const ended = areAll ? own : new Set(there)
  // A ticket that is named twice in a call is settled once.
  const settled = settlements.map(({ ticket }) => (ended.delete(ticket) ? 'ok' : 'fenced'))
  return { fenced: false, started: started.map(() => 'ok'), settled, fetched, cancellations: first.queueId }
}
