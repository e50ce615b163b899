/** The worker processes and what they run. */

import type { Page, Process, RunningJob } from '../../api/types.ts'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { type SlotCounts, Slots } from '../../components/slots.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { liveStats } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { Processes } from './processes.tsx'
import { RunningJobs } from './running.tsx'

export default function Busy() {
  const processes = useData<Page<Process>>('/processes')
  const running = useData<Page<RunningJob>>('/running')
  const { value: now } = liveStats
  const sum = (of: keyof SlotCounts) => processes.data?.items.reduce((total, one) => total + one[of], 0) ?? 0
  // The store knows the number of running jobs at once; the jobs themselves arrive with the next heartbeat.
  const isUntold = (now?.stats.busy ?? 0) > 0
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('busy.title')}
        {...(now ? { count: number(now.stats.busy) } : {})}
        facts={[
          processes.data && t('overview.facts.processes', { n: processes.data.items.length }),
          processes.data && <Slots concurrency={sum('concurrency')} orderedConcurrency={sum('orderedConcurrency')} />,
        ]}
      />
      <section class="panel list">
        <header>
          <h2>{t('busy.processes')}</h2>
        </header>
        {processes.error && <ErrorNote error={processes.error} onRetry={processes.reload} />}
        {!processes.data && !processes.error && <Skeleton />}
        {processes.data?.items.length === 0 && (
          <Empty icon="plug" title={t('alerts.no-process')}>
            {t('busy.start')}
            <br />
            <code>highkiq work -r ./jobs.ts</code>
          </Empty>
        )}
        {processes.data && processes.data.items.length > 0 && (
          <Processes all={processes.data.items} reload={processes.reload} />
        )}
      </section>
      <section class="panel list section">
        <header>
          <h2>{t('busy.running')}</h2>
        </header>
        {running.error && <ErrorNote error={running.error} onRetry={running.reload} />}
        {!running.data && !running.error && <Skeleton />}
        {running.data?.items.length === 0 && (
          <Empty icon="busy" title={t(isUntold ? 'busy.untold' : 'busy.idle')}>
            {t(isUntold ? 'busy.untoldWhat' : 'busy.idleWhat')}
          </Empty>
        )}
        {running.data && running.data.items.length > 0 && (
          <RunningJobs all={running.data.items} reload={running.reload} />
        )}
      </section>
    </main>
  )
}
