/** How a run of a cron entry ended, or goes on. */

import type { CronEntry, EventStatus } from '../../api/types.ts'
import { Pill } from '../../components/status.tsx'
import { duration, serverNow } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'

export type Run = CronEntry['runs'][number]

const LIKE: Record<Run['state'], EventStatus> = {
  waiting: 'enqueued',
  running: 'working',
  retrying: 'error',
  succeeded: 'finished',
  failed: 'failed',
  dead: 'error',
  cancelled: 'cancelled',
}

export function RunState({ run: { state } }: { run: Run }) {
  return <Pill like={LIKE[state]}>{t(`cron.state.${state}`)}</Pill>
}

/** How long the last attempt took; while it runs, so far. */
export function took({ state, startedAt, endedAt }: Run): string {
  if (startedAt === null || (endedAt === null && state !== 'running')) return '–'
  const end = endedAt === null ? serverNow() : Date.parse(endedAt)
  return duration(Math.max(end - Date.parse(startedAt), 0) / 1000)
}
