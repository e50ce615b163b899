/** Groups the jobs of a push by how they are stored. */

import { isPriorityName } from '../../../job/priority.ts'
import { hasOnlyRecords, type PushItem } from '../../contract.ts'

/** The most jobs that one script stores. */
export const MAX_SCRIPT_JOBS = 100

/** The kinds of jobs. Groups are stored in this order; the last one can store jobs of each kind. */
const KINDS = ['plain', 'recorded', 'effects', 'once', 'checked'] as const

export interface PushGroup {
  kind: (typeof KINDS)[number]
  items: readonly PushItem[]
}

export type QueueItem = Extract<PushItem, { to: 'queue' }>

/**
 * Groups jobs by their kind. The jobs of a list stay in order: one whose group comes before that of an earlier job of its list
 * goes into the checked group, or, when that is full, into a further round of groups.
 */
export function groupsOf(items: readonly PushItem[]): PushGroup[] {
  const kind = kindOf(items[0] as PushItem)
  if (items.every((item) => kindOf(item) === kind)) return [{ kind, items }]
  const groups = new Map<number, PushItem[]>()
  /** The number of the group that has the last job of each list: the number of its round plus that of its kind. */
  const lastOf = new Map<string, number>()
  for (const item of items) {
    const last = item.to === 'queue' ? (lastOf.get(item.queue) ?? 0) : 0
    const round = last - (last % KINDS.length)
    const checked = round + KINDS.length - 1
    let at = round + KINDS.indexOf(kindOf(item))
    if (at < last) at = (groups.get(checked)?.length ?? 0) < MAX_SCRIPT_JOBS ? checked : at + KINDS.length
    if (item.to === 'queue') lastOf.set(item.queue, at)
    const group = groups.get(at)
    if (group) group.push(item)
    else groups.set(at, [item])
  }
  const inOrder = [...groups].sort(([a], [b]) => a - b)
  return inOrder.map(([at, some]) => ({ kind: KINDS[at % KINDS.length] as PushGroup['kind'], items: some }))
}

/** Whether the store may refuse the item. */
function isChecked({ unique, maxLength }: PushItem): boolean {
  return unique !== undefined || maxLength !== undefined
}

function kindOf(item: PushItem): PushGroup['kind'] {
  if (isChecked(item)) return 'checked'
  if (item.once) return 'once'
  // A script tells the workers of a new priority in the same step.
  if (item.to === 'queue' && isPriorityName(item.queue)) return 'effects'
  if (!item.effects?.length) return 'plain'
  return item.to === 'queue' && hasOnlyRecords(item) ? 'recorded' : 'effects'
}
