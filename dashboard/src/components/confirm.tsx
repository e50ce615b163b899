/** Asks before something is destroyed: what, how many, and what stays if the answer is no. */

import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { number } from '../format/number.ts'
import { t } from '../i18n/index.ts'
import { useModal } from './modal.ts'

/** A text of the question; a function if the text depends on choices in the question itself. */
type DialogText = string | (() => string)

const textOf = (text: DialogText) => (typeof text === 'string' ? text : text())

interface Question {
  /** "Delete 3,902 retries?" */
  title: DialogText
  /** What will happen, and whether it can be undone. */
  body?: ComponentChildren
  /** The affected items: a name and a number each. */
  parts?: { name: string; count: number }[]
  /** The label of the button repeats the question: "Delete 3,902 retries". */
  act: DialogText
  /** The label of the safe answer. Default: "Keep them", or "Keep it" for a count of 1. */
  keep?: string
  isDangerous?: boolean
  /** From a thousand on, the user types the number to confirm. */
  count?: number
}

const TYPED_ABOVE = 1000

interface Asked extends Question {
  /** Each question has a dialog of its own, also when two have the same title. */
  id: number
  answer(yes: boolean): void
}

const asked = signal<Asked | null>(null)
let lastId = 0

/** Resolves to true when the user confirmed. */
export function confirm(question: Question): Promise<boolean> {
  asked.value?.answer(false)
  return new Promise((resolve) => {
    const id = ++lastId
    asked.value = {
      ...question,
      id,
      answer(yes) {
        // A dialog reports that it closed, perhaps after the next question was asked.
        if (asked.value?.id === id) asked.value = null
        resolve(yes)
      },
    }
  })
}

export function Confirming() {
  const question = asked.value
  return question && <Dialog key={question.id} {...question} />
}

function Dialog({ title, body, parts, act, keep, isDangerous = true, count = 0, answer }: Asked) {
  const dialog = useModal()
  const [typed, setTyped] = useState('')
  const isTyped = count <= TYPED_ABOVE || typed.replace(/\D/g, '') === String(count)
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="confirm-title" onClose={() => answer(false)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault()
          if (isTyped) answer(true)
        }}
      >
        <h2 id="confirm-title">{textOf(title)}</h2>
        {body && <p>{body}</p>}
        {parts && parts.length > 0 && (
          <ul>
            {parts.map(({ name, count: n }) => (
              <li key={name}>
                <bdi class="cut">{name}</bdi>
                <span class="n">{number(n)}</span>
              </li>
            ))}
          </ul>
        )}
        {count > TYPED_ABOVE && (
          <label class="field">
            {t('confirm.type', { number: String(count) })}
            <input
              inputMode="numeric"
              autocomplete="off"
              value={typed}
              onInput={(e) => setTyped(e.currentTarget.value)}
            />
          </label>
        )}
        <div class="actions">
          <button type="button" class="btn" onClick={() => answer(false)}>
            {keep ?? t('confirm.keep', { n: count })}
          </button>
          <button type="submit" class={isDangerous ? 'btn danger' : 'btn primary'} disabled={!isTyped}>
            {textOf(act)}
          </button>
        </div>
      </form>
    </dialog>
  )
}
