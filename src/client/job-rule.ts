/** Checks options and arguments that must be jobs. */

import { invalidOption } from '../job/errors.ts'
import { type OptionRule, shown } from '../job/options.ts'
import type { Job } from './job.ts'

export const JOB: OptionRule = [
  (job) => typeof (job as Job | null)?.request === 'function',
  'a job, as returned by hq.job(…)',
]

/** Checks the first argument of a function. @throws INVALID_OPTION */
export function checkJob(where: string, job: unknown): void {
  if (JOB[0](job)) return
  throw invalidOption(`${where}: the first argument must be ${JOB[1]} (got ${shown(job)})`)
}
