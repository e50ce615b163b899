/** The classes of pushed jobs for the audit. */

import { isObject } from '../../job/json.ts'
import { MOST_NAMED } from '../access/audit.ts'
import { cut } from './job-summary.ts'

/** Returns a function that takes the jobs of one request in parts, and returns their classes so far for the audit. */
export function classCollector() {
  const classes = new Set<string>()
  return (bodies: Iterable<unknown>): Record<string, string> => {
    for (const body of bodies) {
      if (isObject(body) && typeof body.class === 'string' && classes.size < MOST_NAMED) classes.add(cut(body.class))
    }
    return classes.size > 0 ? { class: [...classes].join(', ') } : {}
  }
}
