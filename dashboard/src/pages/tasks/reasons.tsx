/** Why rows were rejected, by code: wrong data apart from technical errors. */

import { useRef, useState } from 'preact/hooks'
import type { Reason, Reasons as ReasonsOfTask, TaskStatus } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { StatusIcon } from '../../components/icon.tsx'
import { number } from '../../format/number.ts'
import { language, t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { type Data, LONGEST_REST_MS, useData } from '../../live/use-data.ts'
import { retryRows } from './retry.tsx'

const KINDS = ['failed', 'error', 'cancelled'] as const
/** The reasons that are shown at first, and how many times as many each click shows. */
const FOLDED = 20
const UNFOLD = 10
const MOST = 10_000
/** The rest after a request for each reason. */
const REST_MS = 300

export interface ShownReasons extends Pick<Data<ReasonsOfTask>, 'reload'> {
  items: Reason[]
  total: number
  /** Shows more of the reasons. */
  unfold(): void
}

/** Loads the most frequent reasons. Earlier ones stay while more are loaded. */
export function useReasons(id: string, isOff: boolean): ShownReasons {
  const [limit, setLimit] = useState(FOLDED)
  const last = useRef<{ id: string; data: ReasonsOfTask | undefined }>({ id, data: undefined })
  // For each request the store counts the rows of all codes, and reads a row of each code that is shown.
  const restMs = (reasons: ReasonsOfTask) => Math.min(reasons.total * REST_MS, LONGEST_REST_MS)
  const query = { samples: 1, limit, lang: language.value }
  const { data, reload } = useData<ReasonsOfTask>(isOff ? null : `/tasks/${encoded(id)}/reasons`, query, { restMs })
  if (data || last.current.id !== id) last.current = { id, data }
  const { items = [], total = 0 } = last.current.data ?? {}
  return { items, total, reload, unfold: () => setLimit(Math.min(limit * UNFOLD, MOST)) }
}

interface ReasonsProps {
  task: TaskStatus
  reasons: ShownReasons
  reload(): Promise<void>
}

export function Reasons({ task, reasons: { items, total, unfold }, reload }: ReasonsProps) {
  const { failed, error, cancelled } = task.counts
  if (items.length === 0) return null
  const most = Math.max(...items.map(({ count }) => count))
  const more = total - items.length
  // Codes beyond the shown ones are all reasons with a code.
  const codes = new Set(items.flatMap(({ code }) => code ?? [])).size + more
  const facts = [
    t('task.reasonRows', { n: failed + error + cancelled }),
    codes > 0 && t('task.reasonCodes', { n: codes }),
    items.some(({ otherCodes }) => otherCodes) && t('task.otherCodes'),
  ]
  return (
    <section class="panel section">
      <header>
        <h2>{t('task.reasons')}</h2>
        <span class="aside">{facts.filter(Boolean).join(' · ')}</span>
      </header>
      {KINDS.map((status) => {
        const some = items.filter((reason) => reason.status === status)
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
      {more > 0 && items.length < MOST && (
        <div class="more">
          <button type="button" class="btn s" onClick={unfold}>
            {t('task.moreCodes', { n: more })}
          </button>
        </div>
      )}
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
      <span class="actions">
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
