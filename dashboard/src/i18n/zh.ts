/** 中文 */

import type { Texts } from './index.ts'
import { allJobs } from './zh/all-jobs.ts'
import { batches } from './zh/batches.ts'
import { busy } from './zh/busy.ts'
import { cron } from './zh/cron.ts'
import { doctor } from './zh/doctor.ts'
import { events } from './zh/events.ts'
import { everywhere } from './zh/everywhere.ts'
import { form } from './zh/form.ts'
import { jobs } from './zh/jobs.ts'
import { layout } from './zh/layout.ts'
import { limits } from './zh/limits.ts'
import { locks } from './zh/locks.ts'
import { metrics } from './zh/metrics.ts'
import { ordered } from './zh/ordered.ts'
import { overview } from './zh/overview.ts'
import { queues } from './zh/queues.ts'
import { sets } from './zh/sets.ts'
import { tasks } from './zh/tasks.ts'

export const zh: Texts = {
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
