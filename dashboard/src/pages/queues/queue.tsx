/** One queue: what is in it, since when, who serves it, what takes long, and its jobs. */

import { useCallback } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import { sendRequest } from '../../api/client.ts'
import type { Acted, JobDetail, JobSummary, Queue, QueueSizes, QueueWaits, Searched } from '../../api/types.ts'
import { encoded, nameOf } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Split } from '../../components/drawer.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { AddChip, Chip, FROM_THE_START, Search } from '../../components/search.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { EmptyTiles } from '../../components/tile.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { bytes, number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { LONGEST_REST_MS, useData } from '../../live/use-data.ts'
import { type Change, useQuery } from '../../live/use-query.ts'
import { AddJob } from '../job/add.tsx'
import { visible } from '../job/json.tsx'
import { whyOf } from '../job-sets/actions.ts'
import { MoreFilters } from '../job-sets/more-filters.tsx'
import { type Row, rowsOf } from '../job-sets/row.ts'
import { RANGES, Ranges, spanOf } from '../metrics/ranges.tsx'
import { QueueActions } from './actions.tsx'
import { ClassesPanel, OnlyLimited } from './classes.tsx'
import { Figures } from './figures.tsx'
import { pathOf, QueuedDrawer } from './queued.tsx'
import { RunningPanel } from './running.tsx'
import { ServingPanel } from './serving.tsx'
import { SizesPanel } from './sizes.tsx'
import { WaitsPanel } from './waits.tsx'

const ORDERS = ['newest', 'oldest'] as const
/** The store keeps waits for eight hours. */
const MOST_MINUTES_OF_WAITS = 480

export default function QueuePage() {
  const name = nameOf(useRoute().params.name ?? '')
  const path = `/queues/${encoded(name)}`
  const { data: queue, error, reload } = useData<Queue>(path)
  const [query, change] = useQuery()
  const { search, cursor, class: className } = query
  const order = ORDERS.find((one) => one === query.order) ?? 'newest'
  const listQuery = { search, class: className, order, cursor, limit: 25 }
  const jobs = useData<Searched<JobSummary>>(`${path}/jobs`, listQuery)
  const range = RANGES.find((one) => one === query.range) ?? '1h'
  const minutes = spanOf(range).minutes ?? MOST_MINUTES_OF_WAITS
  const hours = t('queues.hours', { n: minutes / 60 })
  const waits = useData<QueueWaits>(`${path}/waits`, { minutes }, { restMs: range === '1h' ? 0 : LONGEST_REST_MS })
  const sizes = useData<QueueSizes>(`${path}/sizes`, spanOf(range), { restMs: LONGEST_REST_MS })
  const rows = rowsOf(jobs.data?.items ?? [])
  const again = useCallback(async () => {
    await Promise.all([reload(), jobs.reload()])
  }, [reload, jobs.reload])
  const remove = async (job: JobDetail) => {
    if (!(await confirmDeletion(job))) return
    const acted = await reportOutcome(
      sendRequest<Acted>('DELETE', pathOf(name, job.jid), undefined, { key: job.key }),
      async (acted) =>
        acted.done > 0
          ? t('queues.deleted')
          : { text: t('toast.failed', { why: await whyOf(acted) }), isRefusal: true },
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
        {about.value?.readOnly === false && <AddJob queue={name} />}
        {queue && about.value?.readOnly === false && <QueueActions queue={queue} reload={again} />}
        <Ranges path={path} range={range} rest={{ search, class: className, order: query.order }} />
      </Head>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {queue && <Figures queue={queue} waits={waits.data} hours={hours} />}
      {!queue && !error && <EmptyTiles columns={5} />}
      <SizesPanel sizes={sizes} range={range} />
      <div class="grid g11">
        <ClassesPanel queue={name} limited={queue?.limited ?? 0} />
        <WaitsPanel waits={waits} hours={hours} />
      </div>
      <div class="grid g11">
        <ServingPanel queue={name} />
        <RunningPanel queue={name} />
      </div>
      <section class="panel list section">
        <Tools queue={name} order={order} classes={[...new Set(rows.map(({ job }) => visible(job.class)))]} />
        {jobs.error && <ErrorNote error={jobs.error} onRetry={jobs.reload} />}
        {!jobs.data && !jobs.error && <Skeleton />}
        {jobs.data && <Jobs rows={rows} scanned={jobs.data.scanned} queue={name} limited={queue?.limited ?? 0} />}
        {jobs.data && <Paging next={jobs.data.next} />}
      </section>
    </Split>
  )
}

/** Asks the viewer whether to delete the job. */
function confirmDeletion(job: JobDetail): Promise<boolean> {
  return confirm({
    title: t('queues.deleteTitle', { class: visible(job.class) }),
    body: t('queues.deleteBody'),
    parts: [{ name: visible(`${job.class} ${job.jid}`), count: 1 }],
    act: t('queues.delete'),
    keep: t('task.keepIt'),
  })
}

interface ToolsProps {
  queue: string
  order: (typeof ORDERS)[number]
  classes: readonly string[]
}

function Tools({ queue, order, classes }: ToolsProps) {
  const [, , link] = useQuery()
  return (
    <div class="tools">
      <Search label={t('queues.searchJobs')} placeholder={t('queues.searchJobs')} />
      <Chip name="class" label={t('sets.filter.class')} />
      <AddChip name="class" label={t('sets.filter.class')} known={classes} />
      <span class="grow" />
      <MoreFilters state="queued" queue={queue} />
      <nav class="seg" aria-label={t('queues.order')}>
        {ORDERS.map((one) => (
          <a
            key={one}
            href={link({ order: one === 'newest' ? null : one, ...FROM_THE_START })}
            {...(one === order ? { 'aria-current': 'true' as const } : {})}
          >
            {t(`queues.order.${one}`)}
          </a>
        ))}
      </nav>
    </div>
  )
}

interface JobsProps {
  rows: readonly Row<JobSummary>[]
  scanned: number
  queue: string
  /** The jobs of the queue that wait for room in a limit, which the list does not have. */
  limited: number
}

function Jobs({ rows, scanned, queue, limited }: JobsProps) {
  const [query, change, link] = useQuery()
  const isNarrow = Boolean(query.search || query.class)
  if (rows.length === 0 && !isNarrow && limited > 0) return <OnlyLimited queue={queue} limited={limited} />
  if (rows.length === 0) {
    return (
      <Empty icon="queues" title={isNarrow ? t('nothingMatches') : t('queues.empty')}>
        {isNarrow ? t('searched', { n: scanned }) : t('queues.emptyWhat')}
      </Empty>
    )
  }
  return (
    <Table
      label={t('queues.jobs')}
      rows={rows}
      columns={columns(link)}
      keyOf={({ id }) => id}
      open={query.job}
      onOpen={({ id }) => change({ job: id }, { replace: query.job !== undefined })}
    />
  )
}

function columns(link: (what: Change) => string): Column<Row<JobSummary>>[] {
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
