/** One queue with its jobs, newest first. */

import { useCallback } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import { tell } from '../../api/client.ts'
import type { Queue, QueuedLine, Searched } from '../../api/shapes.ts'
import { at } from '../../base.ts'
import { bytes, number } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { about } from '../../live/pulse.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { confirm } from '../../parts/confirm.tsx'
import { Split } from '../../parts/drawer.tsx'
import { Head } from '../../parts/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../parts/notice.tsx'
import { Paging } from '../../parts/paging.tsx'
import { Search } from '../../parts/search.tsx'
import { Pill } from '../../parts/status.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Tile, Tiles } from '../../parts/tile.tsx'
import { When } from '../../parts/time.tsx'
import { doing } from '../../parts/toast.tsx'
import { t } from '../../words/index.ts'
import { QueueActs } from './acts.tsx'
import { QueuedDrawer } from './queued.tsx'

export default function QueuePage() {
  const { name = '' } = useRoute().params
  const path = `/queues/${encodeURIComponent(name)}`
  const { data: queue, error, reload } = useData<Queue>(path)
  const [query, change] = useQuery()
  const { search, cursor } = query
  const jobs = useData<Searched<QueuedLine>>(`${path}/jobs`, { search, cursor, limit: 25 })
  const items = jobs.data?.items ?? []
  const opened = items.find(({ key }) => key === query.key)
  const again = useCallback(async () => {
    await Promise.all([reload(), jobs.reload()])
  }, [reload, jobs.reload])
  const close = useCallback(() => change({ key: null }), [change])
  const remove = async (job: QueuedLine) => {
    const yes = await confirm({
      title: t('queues.deleteTitle', { class: job.class }),
      body: t('queues.deleteBody'),
      parts: [{ name: `${job.class} ${job.jid}`, count: 1 }],
      act: t('queues.delete'),
      keep: t('task.keepIt'),
    })
    if (!yes) return
    const query = { key: job.key }
    await doing(tell('DELETE', `${path}/jobs/${encodeURIComponent(job.jid)}`, undefined, query), () =>
      t('queues.deleted'),
    )
    close()
    await again()
  }
  const drawer = opened && (
    <QueuedDrawer queue={name} job={opened} onClose={close} onDelete={() => void remove(opened)} />
  )
  return (
    <Split drawer={drawer}>
      <Head
        title={name}
        {...(queue ? { count: number(queue.size) } : {})}
        pill={queue?.paused && <Pill like="failed">{t('queues.paused')}</Pill>}
      >
        {queue && about.value?.readOnly === false && <QueueActs queue={queue} reload={again} />}
      </Head>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {queue && <Figures queue={queue} />}
      <section class="panel list section">
        <div class="tools">
          <Search label={t('queues.searchJobs')} placeholder={t('queues.searchJobs')} />
        </div>
        {jobs.error && <ErrorNote error={jobs.error} onRetry={jobs.reload} />}
        {!jobs.data && !jobs.error && <Skeleton />}
        {jobs.data && items.length === 0 && (
          <Empty icon="queues" title={search ? t('nothingMatches') : t('queues.empty')}>
            {search ? t('searched', { n: jobs.data.scanned }) : t('queues.emptyWhat')}
          </Empty>
        )}
        {items.length > 0 && (
          <Table
            label={t('queues.jobs')}
            rows={items}
            columns={columns(change)}
            keyOf={({ key }) => key}
            nameOf={({ jid }) => jid}
            open={opened?.key}
            onOpen={({ key }) => change({ key })}
          />
        )}
        {jobs.data && <Paging next={jobs.data.next} />}
      </section>
    </Split>
  )
}

function Figures({ queue: { size, held, latency, slots, servedBy, ignoredBy, paused } }: { queue: Queue }) {
  return (
    <Tiles columns={4}>
      <Tile label={t('queues.size')} value={number(size)}>
        {held > 0 ? t('overview.held', { n: held }) : t('overview.noneHeld')}
      </Tile>
      <Tile label={t('queues.oldest')} value={duration(latency)} />
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

function columns(change: (what: { key: string }) => void): Column<QueuedLine>[] {
  return [
    {
      name: 'job',
      title: t('job.title'),
      class: 'max',
      cell: (job) => (
        <>
          <a
            class="cut block"
            href={at(`/jobs/${encodeURIComponent(job.jid)}`)}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return
              event.preventDefault()
              event.stopPropagation()
              change({ key: job.key })
            }}
          >
            <bdi>{job.class}</bdi>{' '}
            <code class="dim args">
              <bdi>{job.preview}</bdi>
            </code>
          </a>
          <span class="sub cut">
            <code>{job.jid}</code>
          </span>
        </>
      ),
    },
    { name: 'bytes', title: t('job.bytes'), class: 'num hide-s dim', cell: (job) => bytes(job.bytes) },
    {
      name: 'since',
      title: t('job.enqueued'),
      class: 'num',
      cell: (job) => <When at={job.enqueuedAt ?? job.createdAt} />,
    },
  ]
}
