/** The history of a job, the latest first. */

import type { EventStatus, JobDetail, JobState } from '../../api/types.ts'
import { StatusIcon } from '../../components/icon.tsx'
import { When } from '../../components/time.tsx'
import { t } from '../../i18n/index.ts'
import { visible } from './json.tsx'

interface Step {
  status: EventStatus
  title: string
  at: string | null
  what?: string
}

export function Life({ job, state }: { job: JobDetail; state: JobState }) {
  const steps = lifeOf(job, state)
  return (
    <>
      <div class="sec">
        <h3>{t('job.life')}</h3>
        {job.failures > 0 && <span class="aside">{t('job.life.attempts', { n: job.failures })}</span>}
      </div>
      <ol class="life">
        {steps.map(({ status, title, at, what }, i) => (
          <li key={i} class={status}>
            <StatusIcon status={status} />
            {at !== null && (
              <span class="when">
                <When at={at} />
              </span>
            )}
            <bdi>{title}</bdi>
            {what && (
              <p>
                <bdi>{what}</bdi>
              </p>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}

function lifeOf(job: JobDetail, state: JobState): Step[] {
  const { failures, failedAt, retriedAt, enqueuedAt, createdAt, queue, error } = job
  const inQueue = t('job.life.inQueue', { queue })
  const errorClass = visible(error?.class ?? t('job.error'))
  const steps: Step[] = []
  if (state === 'retry') {
    steps.push({ status: 'enqueued', title: t('job.life.waits', { n: failures + 1 }), at: job.at, what: inQueue })
  } else if (state === 'scheduled') {
    steps.push({ status: 'enqueued', title: t('job.life.runs'), at: job.at, what: inQueue })
  } else if (state === 'dead') {
    steps.push({ status: 'error', title: t('job.life.died'), at: job.at })
  } else if (state === 'succeeded') {
    steps.push({ status: 'finished', title: t('job.life.finished'), at: job.at })
  } else if (state === 'running') {
    steps.push({ status: 'working', title: t('job.life.running'), at: null })
  } else if (state === 'queued') {
    steps.push({ status: 'enqueued', title: t('job.life.queued'), at: enqueuedAt, what: inQueue })
  }
  if (retriedAt !== null && failures > 1) {
    steps.push({
      status: 'error',
      title: errorClass,
      at: retriedAt,
      what: failures > 2 ? t('job.life.more', { n: failures - 2 }) : '',
    })
  }
  if (failedAt !== null) {
    const isOnly = failures <= 1
    steps.push({
      status: 'error',
      title: isOnly ? errorClass : t('job.life.failed'),
      at: failedAt,
    })
  }
  // A requeued job has the time of its last push.
  if (enqueuedAt !== null && state !== 'queued' && failures === 0 && isLater(enqueuedAt, createdAt)) {
    steps.push({ status: 'enqueued', title: t('job.life.enqueued', { queue }), at: enqueuedAt })
  }
  if (createdAt !== null) steps.push({ status: 'enqueued', title: t('job.life.created'), at: createdAt })
  return steps
}

const SECOND = 1000

function isLater(one: string, other: string | null): boolean {
  return other === null || new Date(one).getTime() - new Date(other).getTime() > SECOND
}
