/**
 * The flag of a task that has come to this store before its jobs. As long as it is there, no row of the task counts as missing.
 * Only the mover that was interrupted, or another one of the same two stores, can bring the jobs.
 */

import type { Store } from '../store/contract.ts'

/** An interrupted move may be continued within this time. */
const FLAG_SECONDS = 30 * 86_400

const keyOf = (id: string) => `arriving-task:${id}`

/** Sets the flag of a task, or renews it. `transfer` is the name under which it moves. */
export async function setArriving({ results }: Store, id: string, transfer: string): Promise<void> {
  const there = await results.remember(keyOf(id), transfer, FLAG_SECONDS)
  if (there !== null) await results.remember(keyOf(id), transfer, FLAG_SECONDS, there)
}

/** Removes the flag of a task whose jobs are all here. */
export async function clearArriving({ results }: Store, id: string, transfer: string): Promise<void> {
  await results.remember(keyOf(id), '', 0, transfer)
}

export async function isArriving({ results }: Store, id: string): Promise<boolean> {
  return (await results.remember(keyOf(id), '', 0)) !== null
}
