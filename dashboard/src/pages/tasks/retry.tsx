/** Retries rejected rows. The page asks first, with their number, unless there are few. */

import { signal } from '@preact/signals'
import { sendRequest } from '../../api/client.ts'
import type { TaskRetried, TaskRetryDelayed, TaskStatus } from '../../api/types.ts'
import { confirm } from '../../components/confirm.tsx'
import { reportOutcome, showToast, type ToastText } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'

/** Seconds for which the toast with *Undo* is shown; the server waits as long. */
const UNDO_SECONDS = 8
/** Up to this many rows are retried without a question. */
const ASKED_ABOVE = 20

type Rejected = 'failed' | 'error' | 'cancelled'

/** The rows to retry, in the form that the API accepts. */
export interface RetryFilter {
  status: Rejected[]
  /** null selects the rows without a code. */
  code?: string | null
  otherCodes?: true
}

/** The rows that the button at the head of the page retries: not the cancelled ones, unless there are no others. */
export function rejectedOf({ counts }: TaskStatus): { status: Rejected[]; count: number; cancelled: number } {
  const count = counts.failed + counts.error
  return count > 0
    ? { status: ['failed', 'error'], count, cancelled: counts.cancelled }
    : { status: ['cancelled'], count: counts.cancelled, cancelled: 0 }
}

/**
 * Retries the rows, after a question if there are many. With `cancelled` above 0 the question offers as many cancelled
 * rows too.
 */
export async function retryRows(
  { id }: TaskStatus,
  { count, cancelled = 0, ...filter }: RetryFilter & { count: number; cancelled?: number },
  reload: () => Promise<void>,
): Promise<void> {
  const isWithCancelled = signal(false)
  const n = () => count + (isWithCancelled.value ? cancelled : 0)
  if (count > ASKED_ABOVE || cancelled > 0) {
    const yes = await confirm({
      title: () => t('task.retryTitle', { n: n() }),
      body: (
        <>
          {t('task.retryBody')}
          {cancelled > 0 && (
            <label class="check">
              <input
                type="checkbox"
                onChange={(event) => {
                  isWithCancelled.value = event.currentTarget.checked
                }}
              />{' '}
              {t('task.retryCancelledToo', { n: cancelled })}
            </label>
          )}
        </>
      ),
      act: () => t('task.retryRows', { n: n() }),
      keep: t('task.retryNot'),
      isDangerous: false,
    })
    if (!yes) return
  }
  const isDelayed = n() > ASKED_ABOVE
  const status = isWithCancelled.value ? [...filter.status, 'cancelled'] : filter.status
  if (isDelayed) {
    const delayed = await reportOutcome(
      sendRequest<TaskRetryDelayed>('POST', `/tasks/${id}/retry`, { ...filter, status }, { undoSeconds: UNDO_SECONDS }),
    )
    if (delayed)
      showToast(t('task.retrySoon', { n: delayed.rows, seconds: UNDO_SECONDS }), () => void undo(id, delayed))
    return
  }
  await reportOutcome(sendRequest<TaskRetried>('POST', `/tasks/${id}/retry`, { ...filter, status }), retriedText)
  await reload()
}

/** Says how many rows run again, and how many could not or were not corrected. */
export function retriedText({ rows, unchanged, dropped, refused }: TaskRetried): ToastText {
  const parts = [
    t('task.retried', { n: rows }),
    unchanged > 0 && t('task.unchanged', { n: unchanged }),
    refused > 0 && t('task.stillWrong', { n: refused }),
    dropped > 0 && t('task.retriedNot', { n: dropped }),
  ]
  return { text: parts.filter(Boolean).join(' · '), isRefusal: dropped + refused > 0 || rows === 0 }
}

async function undo(task: string, { undo }: Pick<TaskRetryDelayed, 'undo'>): Promise<void> {
  await reportOutcome(sendRequest<{ undone: boolean }>('POST', `/tasks/${task}/retry/undo`, { undo }), ({ undone }) =>
    undone ? t('task.retryUndone') : { text: t('task.retryBegun'), isRefusal: true },
  )
}
