/** Searches a list: a text field, and filters as chips. The address holds their values. */

import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from '../i18n/index.ts'
import { type Change, useQuery } from '../live/use-query.ts'
import { Icon } from './icon.tsx'

const TYPED_MS = 300
/** A new search starts at the first page of the list. */
export const FROM_THE_START = { cursor: null, back: null }

/** `/` moves the focus here. */
export function Search({ label, placeholder, name = 'search' }: { label: string; placeholder: string; name?: string }) {
  const [query, change] = useQuery()
  const [text, setText] = useState(query[name] ?? '')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => setText(query[name] ?? ''), [query[name]])
  useEffect(() => () => clearTimeout(timer.current), [])
  const settle = (value: string) => change({ [name]: value, ...FROM_THE_START }, { replace: true })
  return (
    <label class="search">
      <Icon name="search" />
      <span class="vh">{label}</span>
      <input
        type="search"
        data-search
        value={text}
        placeholder={placeholder}
        onInput={(event) => {
          const { value } = event.currentTarget
          setText(value)
          clearTimeout(timer.current)
          timer.current = setTimeout(() => settle(value), TYPED_MS)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') settle(event.currentTarget.value)
        }}
      />
    </label>
  )
}

/** Shows an active filter with a button to drop it. `value` is shown instead of the value in the address. */
export function Chip({ name, label, value: shown }: { name: string; label: string; value?: string }) {
  const [query, change] = useQuery()
  if (!query[name]) return null
  const value = shown ?? query[name]
  return (
    <span class="chip">
      <span>{label}</span> <bdi class="cut">{value}</bdi>
      <button
        type="button"
        aria-label={t('chip.remove', { name: label })}
        onClick={() => change({ [name]: null, ...FROM_THE_START })}
      >
        <Icon name="x" />
      </button>
    </span>
  )
}

/** Filters to add. On a narrow screen they are behind a button. */
export function AddChips({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="chip add only-s" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name="plus" />
        {t('jobs.more')}
      </button>
      <span class={isOpen ? 'chips' : 'chips hide-s'}>{children}</span>
    </>
  )
}

interface AddChipProps {
  name: string
  label: string
  known?: readonly string[]
  /** Says what to write. */
  hint?: string
  /** Returns what a text changes in the address; undefined for a text that is not a filter. */
  changeOf?: (text: string) => Change | undefined
}

/** A filter without a value: a click opens a field for it. */
export function AddChip({ name, label, known = [], hint, changeOf = (text) => ({ [name]: text }) }: AddChipProps) {
  const [query, change] = useQuery()
  const [isAsking, setAsking] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  // Some browsers report a lost focus when the field is removed, after Enter or Escape.
  const isOver = useRef(false)
  useLayoutEffect(() => field.current?.focus(), [isAsking])
  const begin = () => {
    isOver.current = false
    setAsking(true)
  }
  const end = () => {
    isOver.current = true
    setAsking(false)
  }
  if (query[name]) return null
  if (!isAsking) {
    return (
      <button type="button" class="chip add" onClick={begin}>
        <Icon name="plus" />
        {label}
      </button>
    )
  }
  const settle = (input: HTMLInputElement, mayInsist: boolean) => {
    if (isOver.current) return
    const text = input.value.trim()
    const what = text === '' ? undefined : changeOf(text)
    if (text !== '' && !what && mayInsist) {
      input.setCustomValidity(hint ?? '')
      input.reportValidity()
      return
    }
    end()
    if (what) change({ ...what, ...FROM_THE_START })
  }
  return (
    <label class="chip asking">
      <span>{label}</span>
      <input
        ref={field}
        list={`known-${name}`}
        placeholder={hint}
        onInput={(event) => event.currentTarget.setCustomValidity('')}
        onKeyDown={(event) => {
          // Enter and Escape belong to an input method while it composes a word.
          if (event.isComposing) return
          if (event.key === 'Enter') settle(event.currentTarget, true)
          else if (event.key === 'Escape') end()
        }}
        onBlur={(event) => settle(event.currentTarget, false)}
      />
      <datalist id={`known-${name}`}>
        {known.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </label>
  )
}
