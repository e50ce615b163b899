/** One job of a queue, beside the list. */

import type { JobDetail, QueuedLine } from '../../api/shapes.ts'
import { at } from '../../base.ts'
import { about } from '../../live/pulse.ts'
import { useData } from '../../live/use-data.ts'
import { Copy } from '../../parts/copy.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ErrorNote, Skeleton } from '../../parts/notice.tsx'
import { t } from '../../words/index.ts'
import { JobDetailView } from '../job/detail.tsx'

interface QueuedDrawerProps {
  queue: string
  job: QueuedLine
  onClose(): void
  onDelete(): void
}

export function QueuedDrawer({ queue, job: { jid, class: name, key }, onClose, onDelete }: QueuedDrawerProps) {
  const path = `/queues/${encodeURIComponent(queue)}/jobs/${encodeURIComponent(jid)}`
  const { data, error, reload } = useData<JobDetail>(path, { key }, { live: false })
  return (
    <Drawer
      label={`${name} ${jid}`}
      title={
        <h2 class="drawer-title">
          <bdi>{name}</bdi>
        </h2>
      }
      about={
        <p class="row dim">
          <a href={at(`/jobs/${encodeURIComponent(jid)}`)}>
            <code>{jid}</code>
          </a>
          <Copy text={jid} label={t('job.copyJid')} />
        </p>
      }
      onClose={onClose}
      acts={
        about.value?.readOnly === false && (
          <button type="button" class="btn risk" onClick={onDelete}>
            <Icon name="trash" />
            {t('queues.deleteAsk')}
          </button>
        )
      }
    >
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && <JobDetailView job={data} state="queued" path={path} />}
    </Drawer>
  )
}
