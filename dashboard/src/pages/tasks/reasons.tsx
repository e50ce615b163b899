/** Why rows were rejected, by code: wrong data apart from technical errors. */

import type { Reason, TaskStatus } from '../../api/types.ts'
import { at } from '../../base.ts'
import { StatusIcon } from '../../components/icon.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { retryRows } from './retry.tsx'

const KINDS = ['failed', 'error', 'cancelled'] as const

interface ReasonsProps {
  task: TaskStatus
  reasons: Reason[]
  reload(): Promise<void>
}

export function Reasons({ task, reasons, reload }: ReasonsProps) {
  if (reasons.length === 0) return null
  const rows = reasons.reduce((sum, { count }) => sum + count, 0)
  const most = Math.max(...reasons.map(({ count }) => count))
  const codes = new Set(reasons.flatMap(({ code }) => code ?? [])).size
  const facts = [
    t('task.reasonRows', { n: rows }),
    codes > 0 && t('task.reasonCodes', { n: codes }),
    reasons.some(({ otherCodes }) => otherCodes) && t('task.otherCodes'),
  ]
  return (
    <section class="panel section">
      <header>
        <h2>{t('task.reasons')}</h2>
        <span class="aside">{facts.filter(Boolean).join(' · ')}</span>
      </header>
      {KINDS.map((status) => {
        const some = reasons.filter((reason) => reason.status === status)
        return some.length === 0 ? null : (
          <div key={status}>
            <div class="why-h">
              <span class={`st ${status}`}>
                <StatusIcon status={status} />
                <b>
                  {number(task.counts[status])} {t(`status.${status}`)}
                </b>
              </span>
              <span class="cut">{t(`task.means.${status}`)}</span>
            </div>
            {some.map((reason) => (
              <Why key={`${reason.code} ${reason.otherCodes}`} {...{ task, reason, status, most, reload }} />
            ))}
          </div>
        )
      })}
    </section>
  )
}

interface WhyProps {
  task: TaskStatus
  reason: Reason
  status: (typeof KINDS)[number]
  most: number
  reload(): Promise<void>
}

function Why({ task, reason: { code, otherCodes, count, samples }, status, most, reload }: WhyProps) {
  const message = samples[0]?.message ?? ''
  const which = otherCodes ? { otherCodes } : { code }
  const show: Record<string, string> = otherCodes
    ? { otherCodes: 'true' }
    : code === null
      ? { withoutCode: 'true' }
      : { code }
  return (
    <div class="why">
      <StatusIcon status={status} />
      <code class="cut">
        <bdi>{code ?? t(otherCodes ? 'task.otherCodes' : 'task.noCode')}</bdi>
      </code>
      <span class="cut msg" title={message}>
        <bdi>{message}</bdi>
      </span>
      <span class={`meter ${status}`} style={{ '--v': (count / most) * 100 }}>
        <i />
      </span>
      <span class="n">{number(count)}</span>
      <span class="acts">
        <a class="btn s ghost" href={at(`/tasks/${task.id}?${new URLSearchParams({ status, ...show })}`)}>
          {t('task.show')}
        </a>
        {about.value?.readOnly === false && (
          <button
            type="button"
            class="btn s ghost"
            onClick={() => void retryRows(task, { status: [status], ...which, count }, reload)}
          >
            {t('task.retry')}
          </button>
        )}
      </span>
    </div>
  )
}
