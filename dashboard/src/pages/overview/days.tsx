/** The finished and failed runs day by day. */

import type { Day, Page } from '../../api/types.ts'
import { Chart } from '../../components/chart.tsx'
import { ErrorNote, Skeleton } from '../../components/notice.tsx'
import { day } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { Legend } from './throughput.tsx'

const DAYS = 30

export function DaysPanel() {
  const { data, error, reload } = useData<Page<Day>>('/history', { days: DAYS })
  const days = [...(data?.items ?? [])].reverse()
  const times = days.map(({ date }) => new Date(`${date}T00:00:00Z`))
  return (
    <section class="panel section">
      <header>
        <h2>{t('overview.byDay', { n: DAYS })}</h2>
        <Legend />
      </header>
      <div class="body">
        {error && <ErrorNote error={error} onRetry={reload} />}
        {days.length > 0 && (
          <Chart
            label={`${t('overview.byDayChart', { n: days.length })}: ${day(times[0] as Date)} – ${day(times.at(-1) as Date)}`}
            times={times}
            height={140}
            isStacked
            isByDay
            series={[
              {
                label: t('overview.finished'),
                like: 'finished',
                kind: 'bars',
                values: days.map(({ processed, failed }) => processed - failed),
              },
              { label: t('overview.errors'), like: 'error', kind: 'bars', values: days.map(({ failed }) => failed) },
            ]}
          />
        )}
        {!data && !error && <Skeleton />}
      </div>
    </section>
  )
}
