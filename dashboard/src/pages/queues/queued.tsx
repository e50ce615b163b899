/** One job of a queue, beside the list. */

import { useRef, useState } from 'preact/hooks'
import type { JobDetail, JobSummary } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Drawer } from '../../components/drawer.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { JobAbout, JobDetailView } from '../job/detail.tsx'
import { visible } from '../job/json.tsx'
import type { Row } from '../job-sets/rows.tsx'

interface QueuedDrawerProps {
  queue: string
  /** The row's. */
  id: string
  rows: readonly Row<JobSummary>[]
  onDelete(job: JobDetail): Promise<void>
}

export function QueuedDrawer({ queue, id, rows, onDelete }: QueuedDrawerProps) {
  const [, change] = useQuery()
  const position = rows.findIndex((row) => row.id === id)
  const summary = useFirst(rows[position]?.job, id)
  const jid = summary?.jid ?? id.replace(/#\d+$/, '')
  const path = pathOf(queue, jid)
  // Nobody asks for what is being deleted.
  const [isDeleting, setDeleting] = useState(false)
  const {
    data: job,
    error,
    reload,
  } = useData<JobDetail>(path, summary ? { key: summary.key } : {}, { live: !isDeleting })
  const isGone = error?.code === 'UNKNOWN_JID'
  const go = (to: Row<JobSummary> | undefined) =>
    position !== -1 && to ? () => change({ job: to.id }, { replace: true }) : undefined
  const ask = async (job: JobDetail) => {
    setDeleting(true)
    await onDelete(job)
    setDeleting(false)
  }
  return (
    <Drawer
      label={t('job.label', { jid })}
      title={
        <h2 class="drawer-title cut">
          <bdi>{visible(job?.class ?? summary?.class ?? t('job.title'))}</bdi>
        </h2>
      }
      about={job && <JobAbout job={job} state="queued" />}
      onClose={() => change({ job: null })}
      onPrevious={go(rows[position - 1])}
      onNext={go(rows[position + 1])}
      acts={
        job &&
        !isGone &&
        about.value?.readOnly === false && (
          <button type="button" class="btn risk" onClick={() => void ask(job)}>
            <Icon name="trash" />
            {t('queues.deleteAsk')}
          </button>
        )
      }
    >
      {isGone && (
        <Empty
          icon="search"
          title={t('sets.gone')}
          acts={
            <a class="btn" href={at(`/jobs/${encoded(jid)}`)}>
              {t('sets.gone.look')}
            </a>
          }
        >
          {t('sets.gone.what')}
        </Empty>
      )}
      {error && !isGone && <ErrorNote error={error} onRetry={reload} />}
      {job && !isGone && <JobDetailView key={id} job={job} state="queued" path={path} />}
      {!job && !error && <Skeleton />}
    </Drawer>
  )
}

/** Of the API. What has no jid is found by its key alone. */
export function pathOf(queue: string, jid: string): string {
  return `/queues/${encoded(queue)}/jobs/${encoded(jid === '' ? '-' : jid)}`
}

/** As it was seen first: its key changes as the queue moves on, and finds it all the same. */
function useFirst(summary: JobSummary | undefined, id: string): JobSummary | undefined {
  const kept = useRef({ id, summary })
  if (kept.current.id !== id || !kept.current.summary) kept.current = { id, summary }
  return kept.current.summary
}
