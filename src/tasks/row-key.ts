/** A column that tells the rows of a file apart, where a corrected report has lost its row keys. */

import { REJECTED_STATUSES, type Store } from '../store/contract.ts'
import { eventPages } from './event.ts'
import { rowOf } from './report.ts'

/** Indexes of the rejected rows by what stands in the column; two where that tells nothing apart. */
export async function indexesByKey(
  store: () => Store,
  task: string,
  rowKey: string,
): Promise<Map<string, [index: number, other?: number]>> {
  const found = new Map<string, [number, number?]>()
  for await (const events of eventPages(store, task, { status: [...REJECTED_STATUSES] })) {
    for (const event of events) {
      if (event.job !== null) continue
      const key = String(rowOf(event)[rowKey] ?? '')
      const before = found.get(key)
      found.set(key, before ? [before[0], event.index] : [event.index])
    }
  }
  return found
}
