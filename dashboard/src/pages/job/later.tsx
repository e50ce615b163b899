/** Asks when a job is to run: after some time, or at a time. */

import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { useModal } from '../../components/modal.ts'
import { dateOf, duration, exact, inUtc, serverNow } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'

/** The time in the body of a request: `in` seconds, or `at`. */
export type Later = { in: number } | { at: string }

interface Asked {
  title: string
  answer(later: Later | null): void
}

const asked = signal<Asked | null>(null)

/** Asks for a time. Resolves to null when the user cancels. */
export function askWhen(title: string): Promise<Later | null> {
  asked.value?.answer(null)
  return new Promise((resolve) => {
    const question: Asked = {
      title,
      answer(later) {
        // A dialog reports that it closed, perhaps after the next question was asked.
        if (asked.value === question) asked.value = null
        resolve(later)
      },
    }
    asked.value = question
  })
}

/** The dialog. A page that asks shows it once. */
export function AskingWhen() {
  const { value: question } = asked
  useEffect(() => () => asked.value?.answer(null), [])
  return question && <Dialog key={question.title} {...question} />
}

/** Seconds after which a job may run. */
export const WAITS = [60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400]

function Dialog({ title, answer }: Asked) {
  const dialog = useModal()
  const [text, setText] = useState('')
  const at = dateOf(text)
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="later-title" onClose={() => answer(null)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          if (at) answer({ at: at.toISOString() })
        }}
      >
        <h2 id="later-title">{title}</h2>
        <div class="waits">
          {WAITS.map((seconds) => (
            <button key={seconds} type="button" class="btn" onClick={() => answer({ in: seconds })}>
              {t('later.in', { time: duration(seconds) })}
            </button>
          ))}
        </div>
        <label class="field">
          {t(inUtc.value ? 'later.atUtc' : 'later.at')}
          <input type="datetime-local" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <p class="dim" aria-live="polite">
          {at ? (at.getTime() < serverNow() ? t('later.past') : exact(at)) : ' '}
        </p>
        <div class="actions">
          <button type="button" class="btn" onClick={() => answer(null)}>
            {t('later.keep')}
          </button>
          <button type="submit" class="btn primary" disabled={!at}>
            {t('later.do')}
          </button>
        </div>
      </form>
    </dialog>
  )
}
