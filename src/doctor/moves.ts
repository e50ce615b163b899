/** Jobs and tasks that an interrupted `highkiq move` left between two stores. */

import { plural } from '../job/plural.ts'
import { quoted } from '../job/shell.ts'
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
  const held = [
    ...(page ? [plural(sizeOfPage(page), 'job')] : []),
    ...(tasks.length > 0 ? [plural(tasks.length, 'task')] : []),
  ]
  const text = `highkiq move holds ${held.join(' and ')} for ${url === 'URL' ? 'another store' : url}; they run when it continues`
  const advice = `If it no longer runs: highkiq move --from ${quoted(store.url)} --to ${quoted(url)} (add --undo to move them back)`
  return [{ severity: 'warning', text, advice }]
}
