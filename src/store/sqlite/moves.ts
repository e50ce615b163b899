/** What happens inside one write transaction: jobs come in, move and leave, and everything else changes with them. */

import type {
  Destination,
  Effect,
  PushItem,
  SettleAndFetch,
  SettleAndFetchAnswer,
  SettleAnswer,
  Settlement,
} from '../contract.ts'
import type { Bell } from './bell.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Crons } from './crons.ts'
import type { Database } from './database.ts'
import type { Iterations } from './iterations.ts'
import type { Leases } from './leases.ts'
import type { Marks } from './marks.ts'
import type { Metrics } from './metrics.ts'
import { newOf } from './once.ts'
import type { Ordered } from './ordered/ordered.ts'
import type { Processes } from './processes.ts'
import { parseTicket, type Queues, ticketOf } from './queues.ts'
import type { Removal } from './removal.ts'
import type { Results } from './results.ts'
import type { Search } from './search.ts'
import type { Sets } from './sets.ts'
import { sql } from './sql.generated.ts'
import type { Stats } from './stats.ts'
import { Ledger } from './tasks/ledger.ts'
import type { Tasks } from './tasks/tasks.ts'
import type { Writer } from './writer.ts'

/** All that exists once the file is open. */
export interface Opened {
  db: Database
  writer: Writer
  bell: Bell
  /** Keeps the log short; undefined for a store in memory, which has no log. */
  checkpoints: Checkpoints | undefined
  queues: Queues
  sets: Sets
  stats: Stats
  leases: Leases
  processes: Processes
  results: Results
  tasks: Tasks
  crons: Crons
  search: Search
  removal: Removal
  metrics: Metrics
  iterations: Iterations
  marks: Marks
  ordered: Ordered
}

/** Stores jobs in the order given, those for the back of a queue a queue at a time. @throws STORE_FULL */
export function pushAll(s: Opened, items: readonly PushItem[], now: number): void {
  withLedger(s, now, (ledger) => {
    let back = new Map<string, string[]>()
    const putBack = () => {
      for (const [queue, texts] of back) s.queues.pushBack(queue, texts)
      back = new Map()
    }
    for (const item of newOf(s.db, items, now)) {
      if (item.to === 'queue' && item.end === 'back' && !item.effects?.length) {
        const texts = back.get(item.queue)
        if (texts) texts.push(item.text)
        else back.set(item.queue, [item.text])
      } else {
        if (item.to === 'queue') putBack()
        move(s, ledger, item, item.effects)
      }
    }
    putBack()
  })
  s.db.checkRoom()
}

/** One step of a worker, as the contract has it. */
export function runTurn(s: Opened, name: string, turn: SettleAndFetch): SettleAndFetchAnswer {
  const current = s.leases.current(name)
  if (!current) {
    return {
      fenced: true,
      started: turn.started.map(() => 'superseded'),
      settled: turn.settlements.map(() => 'fenced'),
      fetched: [],
      cancellations: 0,
    }
  }
  const { owner, marks } = current
  return withLedger(s, turn.now, (ledger) => {
    const begun = turn.started.flatMap(({ effects }) => effects)
    const made = ledger.advance(begun)
    ledger.prepare(begun, made)
    const started = turn.started.map(({ effects }) => ledger.apply(effects, made))
    const settled = settle(s, ledger, owner, turn.settlements)
    count(s, turn, settled)
    // What this turn freed comes in before it takes.
    ledger.close()
    const fetched = turn.fetch.n > 0 ? s.queues.take(owner, turn.fetch.queues, turn.fetch.n) : []
    return { fenced: false, started, settled, fetched, cancellations: marks }
  })
}

function settle(s: Opened, ledger: Ledger, owner: number, settlements: readonly Settlement[]): SettleAnswer[] {
  // Tickets first, a queue at a time: the ones that were there are this owner's to settle.
  const tickets = new Map<number, number[]>()
  for (const settlement of settlements) {
    const { queue, place } = parseTicket(settlement.ticket)
    const places = tickets.get(queue)
    if (places) places.push(place)
    else tickets.set(queue, [place])
  }
  const gone = new Set<string>()
  for (const [queue, places] of tickets) {
    const rows = s.db.all<{ place: number }>(sql.owner.settle, owner, queue, JSON.stringify(places))
    for (const { place } of rows) gone.add(ticketOf(queue, place))
  }
  // One that is named twice in a call counts once.
  const ours = settlements.map(({ ticket }) => gone.delete(ticket))
  const ended = settlements.filter((_, i) => ours[i])
  const effects = ended.flatMap((one) => [one, ...(one.also ?? [])].flatMap((branch) => branch.effects ?? []))
  const made = ledger.advance(effects)
  ledger.prepare(effects, made)
  for (const { move: to, effects, also = [] } of ended) {
    if (to || effects) move(s, ledger, to, effects, made)
    for (const branch of also) move(s, ledger, branch.to, branch.effects, made)
  }
  return ours.map((isOurs) => (isOurs ? 'ok' : 'fenced'))
}

function count(s: Opened, turn: SettleAndFetch, settled: readonly SettleAnswer[]): void {
  let processed = 0
  let failed = 0
  for (const [i, settlement] of turn.settlements.entries()) {
    if (settled[i] !== 'ok') continue
    processed += settlement.processed
    failed += settlement.failed
  }
  if (processed + failed === 0) return
  s.db.run(sql.look.count, '', processed, failed)
  s.db.run(sql.look.count, new Date(turn.now).toISOString().slice(0, 10), processed, failed)
}

/** A job goes where it goes, and what comes with it changes, but for what is `made` already. */
export function move(
  s: Opened,
  ledger: Ledger,
  to: Destination | null,
  effects?: readonly Effect[],
  made?: ReadonlySet<Effect>,
): void {
  if (to?.to !== 'queue') {
    ledger.apply(effects, made)
    if (to) s.sets.add(to.to, to)
  } else if (ledger.admit(to.text, effects, made)) {
    if (to.end === 'front') s.queues.pushFront(to.queue, to.text)
    else s.queues.pushBack(to.queue, [to.text])
  }
}

/** Runs `work` with the tasks' books open, and closes them behind it. */
export function withLedger<T>(s: Opened, now: number, work: (ledger: Ledger) => T): T {
  const ledger = new Ledger(s.db, s, now)
  const answer = work(ledger)
  ledger.close()
  return answer
}
