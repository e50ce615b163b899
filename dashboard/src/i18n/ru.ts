/** Русский */

import type { Texts } from './index.ts'
import { allJobs } from './ru/all-jobs.ts'
import { batches } from './ru/batches.ts'
import { busy } from './ru/busy.ts'
import { cron } from './ru/cron.ts'
import { doctor } from './ru/doctor.ts'
import { events } from './ru/events.ts'
import { everywhere } from './ru/everywhere.ts'
import { form } from './ru/form.ts'
import { jobs } from './ru/jobs.ts'
import { layout } from './ru/layout.ts'
import { limits } from './ru/limits.ts'
import { locks } from './ru/locks.ts'
import { metrics } from './ru/metrics.ts'
import { ordered } from './ru/ordered.ts'
import { overview } from './ru/overview.ts'
import { queues } from './ru/queues.ts'
import { sets } from './ru/sets.ts'
import { tasks } from './ru/tasks.ts'

export const ru: Texts = {
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
