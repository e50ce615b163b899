/** Jobs that an interrupted `highkiq move` left between two stores. */

import { targetOf } from '../../transfer/mover.ts'
import { plural } from '../output.ts'
import type { Check } from './check.ts'

/** Finds nothing, not even an `ok`, in a store that holds no page. */
export const moves: Check = async ({ hq }) => {
  const page = await hq.store.transfers.held()
  if (!page) return []
  const { url } = targetOf(page.target)
  return [
    {
      severity: 'warning',
      text: `highkiq move has taken ${plural(page.jobs.length, 'job')} for ${url}: they do not run before it goes on`,
      advice: `If it no longer runs: highkiq move --from ${hq.store.url} --to ${url} (add --undo to move them back)`,
    },
  ]
}
