/** The details of a job, the error first, for drawers and the page of the job. */

import type { JobDetail, JobState, SearchedState } from '../../api/types.ts'
import { at, encoded, queryValue } from '../../base.ts'
import { Copy } from '../../components/copy.tsx'
import { Pill } from '../../components/status.tsx'
import { When } from '../../components/time.tsx'
import { bytes, number } from '../../format/number.ts'
import { serverNow } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { limitName } from '../limits/name.ts'
import { Arguments } from './arguments.tsx'
import { Backtrace } from './backtrace.tsx'
import { Json, JsonWell, visible } from './json.tsx'
import { Life } from './life.tsx'
import { Messages } from './messages.tsx'

interface JobDetailProps {
  job: JobDetail
  state: JobState
  /** Loads the job with all its arguments; null when it is gone. */
  loadWhole(): Promise<JobDetail | null>
}

export function JobDetailView({ job, state, loadWhole }: JobDetailProps) {
  return (
    <>
      {job.error && <JobError error={job.error} />}
      {job.error && job.backtrace && job.backtrace.length > 0 && <Backtrace frames={job.backtrace} />}
      {job.error && !job.backtrace && (
        <p class="dim below">
          {t('job.backtrace.none')} <code>backtrace: 20</code>
        </p>
      )}
      {job.messages.length > 0 && <Messages messages={job.messages} />}
      <Arguments job={job} loadWhole={loadWhole} />
      <Life job={job} state={state} />
      <Facts job={job} />
    </>
  )
}

function JobError({ error }: { error: NonNullable<JobDetail['error']> }) {
  return (
    <div class="err">
      <b>
        <bdi>{visible(error.class ?? t('job.error'))}</bdi>
      </b>
      <p>
        <bdi>{visible(error.message)}</bdi>
      </p>
    </div>
  )
}

/** Shows the state of a job, such as `Retry 4 of 25`. */
export function JobPill(about: { job: Pick<JobDetail, 'failures' | 'retries'>; state: JobState | SearchedState }) {
  const { job, state } = about
  const like = {
    ...({ retry: 'error', dead: 'error', rejected: 'failed', morgue: 'error', running: 'working' } as const),
    ...({ ended: 'finished', succeeded: 'finished', finished: 'finished' } as const),
  }[state as string]
  const label =
    state === 'retry' && job.retries !== null
      ? t('job.pill.retryOf', { n: job.failures, all: job.retries })
      : t(`job.state.${state}`)
  return <Pill like={like ?? 'enqueued'}>{label}</Pill>
}

/** Shows the id of a job, to be copied, and when it runs next. */
export function JobAbout({ job, state }: { job: JobDetail; state: JobState }) {
  return (
    <p class="row dim job-about">
      <code class="cut">{visible(job.jid)}</code>
      <Copy text={job.jid} label={t('job.copyJid')} />
      <Next job={job} state={state} />
    </p>
  )
}

/** `runs again in 48 s` */
export function Next({ job, state }: { job: JobDetail; state: JobState }) {
  if (job.at === null || !(state in NEXT)) return null
  return (
    <span class="nowrap">
      {t(isOverdue(job.at, state) ? 'job.next.due' : NEXT[state as keyof typeof NEXT])} <When at={job.at} />
    </span>
  )
}

/** Returns true when the time of a waiting job passed more than a second ago. */
export function isOverdue(at: string, state: JobState): boolean {
  return state !== 'dead' && state !== 'succeeded' && new Date(at).getTime() < serverNow() - 1000
}

const NEXT = {
  retry: 'job.next.retry',
  scheduled: 'job.next.scheduled',
  dead: 'job.next.dead',
  succeeded: 'job.next.finished',
} as const

function Facts({ job }: { job: JobDetail }) {
  return (
    <>
      <div class="sec">
        <h3>{t('job.facts')}</h3>
        <span class="aside">{bytes(job.bytes)}</span>
      </div>
      <dl class="kv">
        <dt>{t('job.jid')}</dt>
        <dd>
          <a class="link mono" href={at(`/jobs/${encoded(job.jid)}`)}>
            {visible(job.jid)}
          </a>
        </dd>
        <dt>{t('job.class')}</dt>
        <dd>
          <a class="link" href={at(`/metrics/${encoded(job.class)}`)}>
            <bdi>{visible(job.class)}</bdi>
          </a>
        </dd>
        <dt>{t('job.queue')}</dt>
        <dd>
          <a class="link" href={at(`/queues/${encoded(job.queue)}`)}>
            <bdi>{visible(job.queue)}</bdi>
          </a>
        </dd>
        {job.priority > 0 && (
          <>
            <dt>{t('job.priority')}</dt>
            <dd>{number(job.priority)}</dd>
          </>
        )}
        {job.task && (
          <>
            <dt>{t('job.task')}</dt>
            <dd>
              <a class="link" href={at(`/tasks/${encoded(job.task.id)}`)}>
                {t('job.task.row', { row: number(job.task.index + 1), id: job.task.id })}
              </a>
            </dd>
          </>
        )}
        {job.bid && (
          <>
            <dt>{t('job.batch')}</dt>
            <dd>
              <a class="link mono" href={at(`/batches/${encoded(job.bid)}`)}>
                <bdi>{visible(job.bid)}</bdi>
              </a>
            </dd>
          </>
        )}
        {job.limit && (
          <>
            <dt>{t('job.limit')}</dt>
            <dd>
              <a class="link" href={at(`/limits?id=${queryValue(job.limit.id)}`)}>
                <bdi>{limitName(job.limit)}</bdi>
              </a>{' '}
              {job.limit.key !== null && (
                <code>
                  <bdi>{visible(job.limit.key)}</bdi>
                </code>
              )}
            </dd>
          </>
        )}
        {job.locks.length > 0 && (
          <>
            <dt>{t('job.locks')}</dt>
            <dd>
              {job.locks.map((lock) => (
                <a key={lock} class="link mono cut block" href={at(`/locks?search=${queryValue(job.jid)}`)}>
                  <bdi>{visible(lock)}</bdi>
                </a>
              ))}
            </dd>
          </>
        )}
        {job.payload.hk_context !== undefined && (
          <>
            <dt>{t('job.context')}</dt>
            <dd class="mono">
              <Json text={JSON.stringify(job.payload.hk_context)} />
            </dd>
          </>
        )}
        {job.tags.length > 0 && (
          <>
            <dt>{t('job.tags')}</dt>
            <dd class="tags">
              {job.tags.map((tag, i) => (
                <span key={i} class="tag cut">
                  <bdi>{visible(tag)}</bdi>
                </span>
              ))}
            </dd>
          </>
        )}
      </dl>
      <details class="below">
        <summary class="dim">{t('job.payload')}</summary>
        <JsonWell text={JSON.stringify(job.payload)} label={t('job.payload')} />
      </details>
    </>
  )
}
