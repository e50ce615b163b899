/** Reports an action for a few seconds, with a button to undo it if that is possible. */

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { refusalText } from '../format/refusal.ts'
import { t } from '../i18n/index.ts'
import { Icon, StatusIcon } from './icon.tsx'

export interface ToastText {
  text: string
  /** True when an action was refused: the toast has no check mark then. */
  isRefusal?: boolean
}

interface ShownToast extends ToastText {
  undo?: () => void
}

const SHOWN_MS = 8000
const shown = signal<ShownToast | null>(null)

export function showToast(toast: string | ToastText, undo?: () => void): void {
  shown.value = { ...(typeof toast === 'string' ? { text: toast } : toast), ...(undo ? { undo } : {}) }
}

/** Waits for the action and reports its outcome. Returns undefined when the action failed. */
export async function reportOutcome<Answer>(
  act: Promise<Answer>,
  done?: (answer: Answer) => string | ToastText | Promise<string | ToastText>,
): Promise<Answer | undefined> {
  try {
    const answer = await act
    if (done) showToast(await done(answer))
    return answer
  } catch (thrown) {
    shown.value = { text: t('toast.failed', { why: refusalText(thrown) }), isRefusal: true }
    return undefined
  }
}

/** `z` undoes the last action. */
export function undoLast(): void {
  shown.value?.undo?.()
  shown.value = null
}

export function Toast() {
  const { value } = shown
  useEffect(() => {
    if (!value) return
    const timer = setTimeout(() => {
      if (shown.value === value) shown.value = null
    }, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <div role="status" aria-live="polite">
      {value && (
        <span class={value.isRefusal ? 'toast at refusal' : 'toast at'}>
          {value.isRefusal ? <StatusIcon status="error" /> : <Icon name="check" />}
          <bdi class="grow">{value.text}</bdi>
          {value.undo && (
            <button type="button" class="btn s" onClick={undoLast}>
              {t('toast.undo')} <kbd>Z</kbd>
            </button>
          )}
        </span>
      )}
    </div>
  )
}
