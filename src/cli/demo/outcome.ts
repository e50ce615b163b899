/** How an import ended, for a person. */

import type { Task, TaskStatus } from '../../index.ts'
import { REJECTED_STATUSES } from '../../index.ts'
import type { Columns } from './columns.ts'
import { skuOf } from './product.ts'

export interface Rejected {
  /** Its number in the file. */
  row: number | null
  /** undefined where rows have none; '' where this one has none. */
  sku: string | undefined
  reason: string
}

export interface Outcome {
  status: TaskStatus
  rejected: number
  /** How many rows for each reason, the most frequent first. */
  reasons: [code: string, count: number][]
  first: Rejected[]
  /** What a row is. */
  noun: string
}

const SHOWN = 8

/** @param columns undefined: rows are not products */
export async function outcomeOf(task: Task, status: TaskStatus, columns: Columns | undefined): Promise<Outcome> {
  const reasons = new Map<string, number>()
  const first: Rejected[] = []
  for await (const event of task.events({ status: [...REJECTED_STATUSES] })) {
    const code = event.code ?? event.status
    reasons.set(code, (reasons.get(code) ?? 0) + 1)
    if (first.length >= SHOWN) continue
    const [row = {}] = (event.args ?? []) as Record<string, unknown>[]
    // Beside what was said, an event's life has the plain steps.
    const reason = event.messages.findLast(({ text }) => text !== 'working')?.text ?? code
    first.push({ row: event.number, sku: columns && skuOf(row, columns), reason })
  }
  return {
    status,
    rejected: [...reasons.values()].reduce((sum, n) => sum + n, 0),
    reasons: [...reasons].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)),
    first,
    noun: columns ? 'product' : 'row',
  }
}
