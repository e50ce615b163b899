/** One queue with its jobs, newest first. */

import { useCallback } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import { tell } from '../../api/client.ts'
import type { Acted, JobDetail, JobSummary, Queue, Searched } from '../../api/types.ts'
import { at, encoded, nameOf } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Split } from '../../components/drawer.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { Search } from '../../components/search.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { EmptyTiles, Tile, Tiles } from '../../components/tile.tsx'
import { When } from '../../components/time.tsx'
import { doing } from '../../components/toast.tsx'
import { bytes, number } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'
import { type Row, rowsOf } from '../job-sets/rows.tsx'
import { QueueActs } from './actions.tsx'
import { pathOf, QueuedDrawer } from './queued.tsx'

export default function QueuePage() {
  const name = nameOf(useRoute().params.name ?? '')
  const path = `/queues/${encoded(name)}`
  const { data: queue, error, reload } = useData<Queue>(path)
  const [query, change, link] = useQuery()
  const { search, cursor } = query
  const jobs = useData<Searched<JobSummary>>(`${path}/jobs`, { search, cursor, limit: 25 })
  const rows = rowsOf(jobs.data?.items ?? [])
  const again = useCallback(async () => {
    await Promise.all([reload(), jobs.reload()])
  }, [reload, jobs.reload])
  const remove = async (job: JobDetail) => {
    const yes = await confirm({
      title: t('queues.deleteTitle', { class: visible(job.class) }),
      body: t('queues.deleteBody'),
      parts: [{ name: visible(`${job.class} ${job.jid}`), count: 1 }],
      act: t('queues.delete'),
      keep: t('task.keepIt'),
    })
    if (!yes) return
    const acted = await doing(
      tell<Acted>('DELETE', pathOf(name, job.jid), undefined, { key: job.key }),
      ({ done, error }) => (done > 0 ? t('queues.deleted') : t('toast.failed', { why: error ?? '' })),
    )
    if (acted) change({ job: null })
    await again()
  }
  const drawer = query.job !== undefined && <QueuedDrawer queue={name} id={query.job} rows={rows} onDelete={remove} />
  return (
    <Split drawer={drawer}>
      <Head
        title={visible(name)}
        {...(queue ? { count: number(queue.size) } : {})}
        pill={queue?.paused && <Pill like="failed">{t('queues.paused')}</Pill>}
      >
        {queue && about.value?.readOnly === false && <QueueActs queue={queue} reload={again} />}
      </Head>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {queue && <Figures queue={queue} />}
      {!queue && !error && <EmptyTiles columns={4} />}
      <section class="panel list section">
        <div class="tools">
          <Search label={t('queues.searchJobs')} placeholder={t('queues.searchJobs')} />
        </div>
        {jobs.error && <ErrorNote error={jobs.error} onRetry={jobs.reload} />}
        {!jobs.data && !jobs.error && <Skeleton />}
        {jobs.data && rows.length === 0 && (
          <Empty icon="queues" title={search ? t('nothingMatches') : t('queues.empty')}>
            {search ? t('searched', { n: jobs.data.scanned }) : t('queues.emptyWhat')}
          </Empty>
        )}
        {rows.length > 0 && (
          <Table
            label={t('queues.jobs')}
            rows={rows}
            columns={columns(link)}
            keyOf={({ id }) => id}
            open={query.job}
            onOpen={({ id }) => change({ job: id }, { replace: query.job !== undefined })}
          />
        )}
        {jobs.data && <Paging next={jobs.data.next} />}
      </section>
    </Split>
  )
}

function Figures({ queue }: { queue: Queue }) {
  const { size, limited, backlog, latency, slots, servedBy, ignoredBy, paused, trend } = queue
  return (
    <Tiles columns={4}>
      <Tile label={t('queues.size')} value={number(size)}>
        {limited > 0 && <span>{t('queues.limited', { n: limited })} </span>}
        {backlog > 0 ? t('overview.backlog', { n: backlog }) : t('overview.noBacklog')}
      </Tile>
      <Tile label={t('queues.oldest')} value={duration(latency)}>
        {trendText(trend)}
      </Tile>
      <Tile label={t('queues.slots')} value={number(slots)}>
        {t('overview.facts.processes', { n: servedBy.length })}
      </Tile>
      <Tile
        label={t('queues.servedBy')}
        value={servedBy.length === 0 ? '–' : number(servedBy.length)}
        href={at('/busy')}
      >
        <bdi>
          {paused && ignoredBy.length > 0 ? t('queues.ignored', { who: ignoredBy.join(', ') }) : servedBy.join(', ')}
        </bdi>
      </Tile>
    </Tiles>
  )
}

function trendText(trend: Queue['trend']): string {
  if (trend === null || trend.perMinute === 0) return ''
  const { perMinute, emptyIn } = trend
  if (emptyIn === null) return t('queues.grows', { n: number(perMinute) })
  return emptyIn > 0 ? t('queues.emptyIn', { time: duration(emptyIn) }) : ''
}

function columns(link: (what: { job: string }) => string): Column<Row<JobSummary>>[] {
  return [
    {
      name: 'job',
      title: t('job.title'),
      class: 'max',
      cell: ({ id, job }) => (
        <>
          <a class="cut block" href={link({ job: id })}>
            <bdi>{visible(job.class)}</bdi>{' '}
            <code class="dim args">
              <bdi>{visible(job.preview)}</bdi>
            </code>
          </a>
          <span class="sub cut">
            <code>{visible(job.jid)}</code>
          </span>
        </>
      ),
    },
    { name: 'bytes', title: t('job.bytes'), class: 'num hide-s dim', cell: ({ job }) => bytes(job.bytes) },
    {
      name: 'since',
      title: t('job.enqueued'),
      class: 'num',
      cell: ({ job }) => <When at={job.enqueuedAt ?? job.createdAt} />,
    },
  ]
}
