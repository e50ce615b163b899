/** The progress of a task. */

import type { TaskStatus } from '../../api/types.ts'
import { at } from '../../base.ts'
import { StatusIcon } from '../../components/icon.tsx'
import { IN_ORDER, StatusBar } from '../../components/status.tsx'
import { When } from '../../components/time.tsx'
import { number, rate, share } from '../../format/number.ts'
import { clock, duration, serverNow } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'

export function Hero({ task }: { task: TaskStatus }) {
  const { counts, total, percent, ratePerSecond } = task
  const ended = total - counts.enqueued - counts.working
  const rejected = counts.failed + counts.error
  return (
    <section class="panel hero" aria-label={t('tasks.progress')}>
      <div class="nums">
        <div>
          <div class="big">
            {number(Math.floor(percent * 10) / 10, 1)}
            <small>%</small>
          </div>
          <div class="muted">{t('task.endedOf', { ended, n: total })}</div>
        </div>
        <div>
          <Span task={task} />
        </div>
        <div>
          <div class="k">{t('task.rate')}</div>
          <div class="v">
            {rate(ratePerSecond)} <small>{t('task.rowsPerSecond')}</small>
          </div>
        </div>
        <div>
          <div class="k">{t('tasks.rejected')}</div>
          <div class="v">
            {share(rejected, ended)} <small>{t('task.partOf', { part: rejected, n: ended })}</small>
          </div>
        </div>
      </div>
      <StatusBar counts={counts} large />
      <Keys task={task} />
    </section>
  )
}

/** Shows the estimated time, which a paused task does not have; for an ended task, the time that it took. */
function Span({ task: { state, runAt, finishedAt, etaSeconds: estimate } }: { task: TaskStatus }) {
  const end = finishedAt === null ? null : new Date(finishedAt)
  const etaSeconds = state === 'paused' ? null : estimate
  const left = etaSeconds === null ? null : new Date(serverNow() + etaSeconds * 1000)
  return end ? (
    <>
      <div class="k">{t('task.took')}</div>
      <div class="v">
        {duration((end.getTime() - new Date(runAt).getTime()) / 1000)}{' '}
        <small>
          {t('task.endedAt')} <When at={finishedAt} />
        </small>
      </div>
    </>
  ) : (
    <>
      <div class="k">{t('task.left')}</div>
      <div class="v">
        {etaSeconds === null || left === null ? '–' : duration(etaSeconds)}{' '}
        {left && <small>{t('task.about', { at: clock(left) })}</small>}
      </div>
    </>
  )
}

/** Shows each status with its number; a click shows its rows. */
function Keys({ task: { id, counts, deferred } }: { task: TaskStatus }) {
  const [query] = useQuery()
  return (
    <div class="keys">
      {IN_ORDER.map((status) => (
        <a
          key={status}
          class={`key ${status}${counts[status] === 0 ? ' zero' : ''}`}
          href={at(`/tasks/${id}?status=${status}`)}
          {...(query.status === status ? { 'aria-current': 'true' as const } : {})}
        >
          <StatusIcon status={status} />
          <b>{number(counts[status])}</b> {t(`status.${status}`)}
        </a>
      ))}
      {deferred > 0 && (
        <a class="key working" href={at(`/tasks/${id}?status=working`)}>
          {t('task.deferredRows', { n: deferred })}
        </a>
      )}
    </div>
  )
}
