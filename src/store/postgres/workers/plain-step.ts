/**
 * Steps of workers that only end jobs without effects, keep some of them, and fetch. Each is one statement, which runs
 * beside those of other workers.
 */

import { fencedAnswer } from '../../contract/fenced-answer.ts'
import type {
  Destination,
  FetchedJob,
  FinishedJob,
  SettleAndFetch,
  SettleAndFetchAnswer,
  Settlement,
} from '../../contract.ts'
import { queueAt } from '../queues/queues.ts'
import { MOST_CHARACTERS } from '../queues/slices.ts'
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

function isDone({ move, also, processed, failed, effects }: Settlement): boolean {
  return (move === null || isKept(move)) && !also?.length && processed === 1 && failed === 0 && !effects?.length
}

/** Returns whether a job goes to the set of finished jobs, with members that its text gets there. */
function isKept(to: Destination | null): to is FinishedJob & Destination {
  return to?.to === 'finished' && !!to.members
}

/** Runs a plain step. Resolves with undefined, and changes nothing, if the step needs more than one statement. */
export async function plainStep(
  server: StoreServer,
  owner: string,
  request: SettleAndFetch,
  fetchNumber: number,
): Promise<SettleAndFetchAnswer | undefined> {
  const { settlements } = request
  const tickets = ticketsOf(settlements)
  const kept = keptOf(settlements)
  if (!kept || (kept.runs.length > 0 && tickets.all.length < settlements.length)) return undefined
  const values = [...valuesOf(server, owner, request, tickets, fetchNumber), kept.runs, kept.scores, kept.members]
  const rows = await server.runOne((db) => db.all<Row>(sql.queue.stepPlain, ...values))
  return answerOf(request, tickets, fetchNumber, rows)
}

/** The kept jobs of a step, as step_plain_2 takes them. */
interface Kept {
  runs: number[]
  scores: number[]
  members: string[]
}

/** Returns undefined if their texts are too long for one pack. */
function keptOf(settlements: readonly Settlement[]): Kept | undefined {
  const kept: Kept = { runs: [], scores: [], members: [] }
  let characters = 0
  let last: FinishedJob | undefined
  for (const { move } of settlements) {
    if (!isKept(move)) {
      kept.runs.push(0)
      continue
    }
    const { text, score, members = '' } = move
    if (score !== last?.score || members !== last.members) {
      kept.scores.push(score)
      kept.members.push(members)
      last = move
    }
    kept.runs.push(kept.scores.length)
    characters += text.length + members.length
  }
  if (characters > MOST_CHARACTERS) return undefined
  return last ? kept : { runs: [], scores: [], members: [] }
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
