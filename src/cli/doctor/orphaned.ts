/** Jobs of workers that died. */

import { plural } from '../output.ts'
import { workCommand } from '../processes.ts'
import { type Check, ok } from './check.ts'

const PAGE = 500
/** At most this many pages of the running jobs are read. */
const PAGES = 40

export const orphaned: Check = async ({ hq, owners, options }) => {
  const { workers } = hq.store
  const jobs = new Map<string, number>()
  const queues = new Set<string>()
  let after: string | undefined
  for (let page = 0; page < PAGES; page++) {
    const { items, next } = await workers.fetched({ after, limit: PAGE })
    for (const { owner, queue } of items) {
      if (owners.has(owner)) continue
      jobs.set(owner, (jobs.get(owner) ?? 0) + 1)
      queues.add(queue)
    }
    if (next === null) break
    after = next
  }
  const total = [...jobs.values()].reduce((sum, n) => sum + n, 0)
  if (total === 0) return ok('no job belongs to a worker that died')
  const text = `${plural(total, 'job belongs', 'jobs belong')} to ${plural(jobs.size, 'worker')} that died`
  if (owners.size > 0) {
    const advice = 'The running workers put them back within seconds. If this stays, look into their logs'
    return [{ severity: 'warning', text, advice }]
  }
  const advice = `Start a worker, which puts them back: ${workCommand([...queues], options)}`
  return [{ severity: 'error', text: `${text}, and no worker is running`, advice }]
}
