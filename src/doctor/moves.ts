/** Jobs and tasks that an interrupted `highkiq move` left between two stores. */

import { quoted } from '../job/shell.ts'
import { finding } from '../store/contract/finding-texts.ts'
import { sizeOfPage } from '../store/contract.ts'
import { targetOf } from '../transfer/mover.ts'
import type { Check } from './check.ts'

/** Returns nothing if no move is interrupted. */
export const moves: Check = async ({ hq: { store } }) => {
  const [page, tasks] = await Promise.all([store.transfers.held(), store.transfers.movingTasks()])
  if (!page && tasks.length === 0) return []
  // A page of jobs of tasks has its own store as its target.
  const targets = [page?.target, ...tasks.map(({ sealed }) => sealed?.target)]
  const urls = targets.flatMap((target) => (target === undefined ? [] : targetOf(target).url))
  const url = urls.find((one) => one !== store.url) ?? 'URL'
  const command = `highkiq move --from ${quoted(store.url)} --to ${quoted(url)}`
  return [
    ...(page ? [finding('warning', 'jobs-held-by-move', { n: sizeOfPage(page), command })] : []),
    ...(tasks.length > 0 ? [finding('warning', 'tasks-held-by-move', { n: tasks.length, command })] : []),
  ]
}
