/** The running jobs, longest first. */

import { sendRequest } from '../../api/client.ts'
import type { RunningJob } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { confirm } from '../../components/confirm.tsx'
import { Progress } from '../../components/progress.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { duration, secondsSince } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { liveStats } from '../../live/live-stats.ts'
import { visible } from '../job/json.tsx'

export function RunningJobs({ all, reload }: { all: RunningJob[]; reload(): Promise<void> }) {
  return (
    <Table
      label={t('busy.running')}
      rows={all}
      columns={columns(reload)}
      keyOf={({ process, thread, jid }) => `${process} ${thread} ${jid}`}
    />
  )
}

function columns(reload: () => Promise<void>): Column<RunningJob>[] {
  return [
    {
      name: 'job',
      title: t('job.title'),
      class: 'max',
      cell: (job) => (
        <>
          <a class="cut block" href={at(`/jobs/${encoded(job.jid)}`)}>
            <bdi>{visible(job.class)}</bdi>{' '}
            <code class="dim args">
              <bdi>{visible(job.preview)}</bdi>
            </code>
          </a>
          <span class="row wraps sub">
            <span class="cut">
              <code>{visible(job.jid)}</code> · <bdi>{visible(job.queue)}</bdi>
            </span>
            {job.tags.map((tag, i) => (
              <span key={i} class="tag whole">
                <bdi>{visible(tag)}</bdi>
              </span>
            ))}
          </span>
          {job.progress && (
            <span class="only-s">
              <Progress progress={job.progress} />
            </span>
          )}
        </>
      ),
    },
    { name: 'progress', title: t('tasks.progress'), class: 'hide-s done-cell', cell: progressOf },
    {
      name: 'process',
      title: t('busy.process'),
      class: 'hide-m process-cell',
      cell: (job) => <bdi class="whole mono">{visible(job.process)}</bdi>,
    },
    {
      name: 'elapsed',
      title: t('busy.elapsed'),
      class: 'num',
      cell: ({ startedAt }) => duration(secondsSince(startedAt, liveStats.value?.at)),
    },
    ...actionColumn((job: RunningJob) => (
      <button type="button" class="btn s risk" data-row-key="D" onClick={() => void cancel(job, reload)}>
        {t('busy.cancelAsk')}
      </button>
    )),
  ]
}

function progressOf({ progress }: RunningJob) {
  return progress ? <Progress progress={progress} /> : <span class="dim">–</span>
}

async function cancel({ jid, class: name, queue, preview }: RunningJob, reload: () => Promise<void>): Promise<void> {
  const yes = await confirm({
    title: t('busy.cancelTitle', { class: visible(name) }),
    body: t('busy.cancelBody'),
    parts: [{ name: visible(`${name} ${preview} ${jid}`), count: 1 }],
    act: t('busy.cancel'),
    keep: t('task.keepRunning'),
  })
  if (!yes) return
  // The server need not search the other queues, which may be thousands.
  const cancelled = sendRequest('DELETE', `/jobs/${encoded(jid)}`, undefined, { queue })
  await reportOutcome(cancelled, () => t('busy.cancelled', { jid }))
  await reload()
}
