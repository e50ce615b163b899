/** Looking for something in a list: a field, and filters as chips. All of it is the address. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { useQuery } from '../live/use-query.ts'
import { t } from '../words/index.ts'
import { Icon } from './icon.tsx'

const TYPED_MS = 300
/** Of another list another page is meant. */
export const FROM_THE_START = { cursor: null, back: null }

/** `/` jumps here. */
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

/** A filter that is set, with a way to drop it. */
export function Chip({ name, label }: { name: string; label: string }) {
  const [query, change] = useQuery()
  const value = query[name]
  if (value === undefined || value === '') return null
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
