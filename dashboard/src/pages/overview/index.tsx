/** The overview: what is wrong, with links to the details. */

import type { Gauges, Throughput } from '../../api/types.ts'
import { at } from '../../base.ts'
import { Head } from '../../components/head.tsx'
import { Slots } from '../../components/slots.tsx'
import { EmptyTiles } from '../../components/tile.tsx'
import { t } from '../../i18n/index.ts'
import { about, liveStats } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { AttentionPanel } from './alerts.tsx'
import { DaysPanel } from './days.tsx'
import { Figures } from './figures.tsx'
import { QueuesPanel } from './queues.tsx'
import { TasksPanel } from './tasks.tsx'
import { ThroughputPanel } from './throughput.tsx'

const RANGES = ['5m', '1h', '24h', '30d'] as const

export function Overview() {
  const { value: now } = liveStats
  const { value: what } = about
  const [query] = useQuery()
  const range = RANGES.find((one) => one === query.range) ?? '1h'
  const gauges = useData<Gauges>('/gauges', { range }).data
  const throughput = useData<Throughput>('/throughput', { range })
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={t('nav.overview')}
        facts={[
          what && <bdi>{`${what.app}, ${what.environment}`}</bdi>,
          now && t('overview.facts.processes', { n: now.stats.processes }),
          now && <Slots {...now.stats} />,
        ]}
      >
        <nav class="seg" aria-label={t('overview.range')}>
          {RANGES.map((one) => (
            <a key={one} href={at(`/?range=${one}`)} {...(one === range ? { 'aria-current': 'true' as const } : {})}>
              {t(`overview.range.${one}`)}
            </a>
          ))}
        </nav>
      </Head>
      {now ? <Figures now={now} gauges={gauges} throughput={throughput.data} /> : <EmptyTiles columns={6} />}
      <div class="grid g21">
        <ThroughputPanel {...throughput} />
        <AttentionPanel all={now?.alerts} />
      </div>
      <div class="grid g11">
        <QueuesPanel />
        <TasksPanel />
      </div>
      <DaysPanel />
    </main>
  )
}
