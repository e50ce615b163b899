/** Stores what an operation has changed in ledgers, each table with one statement for all of them. */

import type { Message } from '../../contract.ts'
import type { EventState } from '../../sql/task-row.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'
import type { TaskLedger } from './task-ledger.ts'
import type { TaskRow } from './task-row.ts'

/** A row keeps its first messages and its last ones. */
export const FIRST_MESSAGES = 10
export const LAST_MESSAGES = 40

/** The columns that change with the rows of a task, in the order of the statement `task.save`. */
const COUNTS = [
  'state',
  'total',
  'next',
  'backlog',
  'in_window',
  'enqueued',
  'working',
  'finished',
  'failed',
  'error',
  'cancelled',
  'progress_at',
  'finished_at',
  'expires_at',
] as const satisfies (keyof TaskRow)[]
/** The columns that change more rarely, in the order of the statement `task.saveTerms`. */
const TERMS = [
  'name',
  'window_size',
  'max_failures',
  'on_max_failures',
  'paused',
  'reason',
  'producer',
  'producers',
  'broken',
  'last_row',
  'run',
  'run_at',
  'ended_before',
  'mixed',
  'done_run',
  'failed_run',
  'cancel_from',
  'deferred',
] as const satisfies (keyof TaskRow)[]

/** A message to add to a row; `key` is that of its task. */
export interface RowMessage {
  key: number
  index: number
  message: Message
}

/** Stores tasks, as far as they have changed. */
export async function saveTasks(db: Database, ledgers: readonly TaskLedger[]): Promise<void> {
  for (const [statement, names] of [
    [sql.task.save, COUNTS],
    [sql.task.saveTerms, TERMS],
  ] as const) {
    const changed = ledgers.filter(({ task, stored }) => names.some((name) => task[name] !== stored[name]))
    if (changed.length === 0) continue
    const columnOf = (name: keyof TaskRow) => (ledger: TaskLedger) => ledger.task[name]
    await db.run(statement, ...columns(changed, columnOf('key'), ...names.map(columnOf)))
  }
}

export async function saveEvents(db: Database, ledgers: readonly TaskLedger[]): Promise<void> {
  const rows = ledgers.flatMap(({ task, changed }) => Array.from(changed, (event) => ({ key: task.key, ...event })))
  if (rows.length > 0) await db.run(sql.event.save, ...columns(rows, ({ key }) => key, ...EVENT))
}

/** The values of an event, in the order of the statement `event.save`. */
const EVENT = [
  ({ idx }: EventState) => idx,
  ({ status }: EventState) => status,
  ({ location }: EventState) => location,
  ({ run }: EventState) => run,
  ({ step }: EventState) => step,
  ({ code }: EventState) => code,
  (event: EventState) => event.started_at,
  (event: EventState) => event.finished_at,
  ({ result }: EventState) => result,
  ({ drop = false }: EventState) => drop,
] as const

export async function saveReasons(db: Database, ledgers: readonly TaskLedger[]): Promise<void> {
  const changes = ledgers.flatMap(({ task: { key }, reasons }) =>
    Array.from(reasons, ([reason, n]) => ({ key, status: Number(reason.slice(0, 1)), code: reason.slice(1), n })),
  )
  const some = changes.filter(({ n }) => n !== 0)
  if (some.length === 0) return
  const values = columns(
    some,
    ({ key }) => key,
    ({ status }) => status,
    ({ code }) => code,
    ({ n }) => n,
  )
  await db.run(sql.event.countReasons, ...values)
  const fewer = some.filter(({ n }) => n < 0).map(({ key }) => key)
  if (fewer.length > 0) await db.run(sql.event.dropReasons, fewer)
}

export async function saveMessages(db: Database, messages: readonly RowMessage[]): Promise<void> {
  if (messages.length === 0) return
  const values = columns(
    messages,
    ({ key }) => key,
    ({ index }) => index,
    ({ message }) => message.at,
    ({ message }) => message.code,
    ({ message }) => JSON.stringify(message.params),
  )
  await db.run(sql.event.addMessages, ...values, FIRST_MESSAGES, LAST_MESSAGES)
}
