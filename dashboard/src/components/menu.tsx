/** A menu of further actions, behind a button with three dots. */

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

export interface MenuItem {
  label: string
  isRisky?: boolean
  act(): void
}

export function Menu({ label, items }: { label: string; items: readonly MenuItem[] }) {
  const [isOpen, setOpen] = useState(false)
  const container = useRef<HTMLDivElement>(null)
  const id = useId()
  const button = () => container.current?.querySelector('button')
  const entries = () => [...(container.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])]
  useEffect(() => {
    if (!isOpen) return
    entries()[0]?.focus()
    const leave = (event: Event) => {
      if (!container.current?.contains(event.target as Node)) setOpen(false)
    }
    addEventListener('pointerdown', leave)
    addEventListener('focusin', leave)
    return () => {
      removeEventListener('pointerdown', leave)
      removeEventListener('focusin', leave)
    }
  }, [isOpen])
  const walk = (event: KeyboardEvent) => {
    if (!isOpen) return
    const all = entries()
    const at = all.indexOf(document.activeElement as HTMLElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key]
    if (to !== undefined) all.at(to % all.length)?.focus()
    else if (event.key === 'Escape') {
      setOpen(false)
      button()?.focus()
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its items have the focus, and it handles their keys
    <div ref={container} class="menu" onKeyDown={walk}>
      <button
        type="button"
        class="btn sq"
        aria-label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="dots" />
      </button>
      <div id={id} role="menu" aria-label={label} hidden={!isOpen}>
        {items.map(({ label: text, isRisky, act }) => (
          <button
            key={text}
            type="button"
            role="menuitem"
            tabIndex={-1}
            class={isRisky ? 'risk' : ''}
            onClick={() => {
              setOpen(false)
              // The focus returns here from a dialog that the action opens.
              button()?.focus()
              act()
            }}
          >
            {text}
          </button>
        ))}
      </div>
    </div>
  )
}
