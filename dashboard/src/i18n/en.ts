/** English: the language that the others are made from. Each file of its folder has the texts of a page. */

import { allJobs } from './en/all-jobs.ts'
import { batches } from './en/batches.ts'
import { busy } from './en/busy.ts'
import { cron } from './en/cron.ts'
import { doctor } from './en/doctor.ts'
import { events } from './en/events.ts'
import { everywhere } from './en/everywhere.ts'
import { form } from './en/form.ts'
import { jobs } from './en/jobs.ts'
import { layout } from './en/layout.ts'
import { limits } from './en/limits.ts'
import { locks } from './en/locks.ts'
import { metrics } from './en/metrics.ts'
import { ordered } from './en/ordered.ts'
import { overview } from './en/overview.ts'
import { queues } from './en/queues.ts'
import { sets } from './en/sets.ts'
import { tasks } from './en/tasks.ts'

export const en = {
  ...everywhere,
  ...layout,
  ...overview,
  ...queues,
  ...tasks,
  ...busy,
  ...sets,
  ...jobs,
  ...form,
  ...allJobs,
  ...ordered,
  ...limits,
  ...locks,
  ...events,
  ...batches,
  ...cron,
  ...doctor,
  ...metrics,
}
