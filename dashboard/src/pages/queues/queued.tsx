/** One job of a queue, beside the list. */

import { useRef, useState } from 'preact/hooks'
import type { JobDetail, JobSummary } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { Icon } from '../../components/icon.tsx'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { JobDrawer } from '../job/drawer.tsx'
import { jidOf, type Row } from '../job-sets/row.ts'

/** The part of a summary that the drawer uses. */
type Summary = Pick<JobSummary, 'jid' | 'key' | 'class'>

interface QueuedDrawerProps {
  queue: string
  /** The id of the row. */
  id: string
  rows: readonly Row<Summary>[]
  onDelete(job: JobDetail): Promise<void>
}

export function QueuedDrawer({ queue, id, rows, onDelete }: QueuedDrawerProps) {
  const [, change] = useQuery()
  const position = rows.findIndex((row) => row.id === id)
  const summary = useFirst(rows[position]?.job, id)
  const jid = summary?.jid ?? jidOf(id)
  const path = pathOf(queue, jid)
  // The job is not requested again while it is being deleted.
  const [isDeleting, setDeleting] = useState(false)
  const found = useData<JobDetail>(path, summary ? { key: summary.key } : {}, { live: !isDeleting })
  const go = (to: Row<Summary> | undefined) =>
    position !== -1 && to ? () => change({ job: to.id }, { replace: true }) : undefined
  const remove = async (job: JobDetail) => {
    setDeleting(true)
    await onDelete(job)
    setDeleting(false)
  }
  return (
    <JobDrawer
      {...{ id, jid, path, found }}
      listed={summary?.class}
      state="queued"
      isGone={found.error?.code === 'UNKNOWN_JID'}
      onClose={() => change({ job: null })}
      onPrevious={go(rows[position - 1])}
      onNext={go(rows[position + 1])}
      actions={(job) => (
        <button type="button" class="btn risk" data-key="D" onClick={() => void remove(job)}>
          <Icon name="trash" />
          {t('queues.deleteAsk')}
        </button>
      )}
    />
  )
}

/** Returns the path of a queued job in the API. A job without a jid is found by its key alone. */
export function pathOf(queue: string, jid: string): string {
  return `/queues/${encoded(queue)}/jobs/${encoded(jid === '' ? '-' : jid)}`
}

/** Returns the summary as it was when the drawer opened: its key changes as the queue moves on, but stays valid. */
function useFirst(summary: Summary | undefined, id: string): Summary | undefined {
  const kept = useRef({ id, summary })
  if (kept.current.id !== id || !kept.current.summary) kept.current = { id, summary }
  return kept.current.summary
}
