/** Shows one item beside its list, which stays usable. On a phone the drawer covers the list. */

import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { t } from '../i18n/index.ts'
import { Icon } from './icon.tsx'
import { isTyping } from './table.tsx'

interface DrawerProps {
  /** The label for screen readers. */
  label: string
  title: ComponentChildren
  /** Shown below the title. */
  about?: ComponentChildren
  children: ComponentChildren
  /** The action buttons. */
  actions?: ComponentChildren
  onClose(): void
  onPrevious?: (() => void) | undefined
  onNext?: (() => void) | undefined
}

/** Shows the list, and the drawer beside it when one is open. */
export function Split({ children, drawer }: { children: ComponentChildren; drawer?: ComponentChildren }) {
  return (
    <div class={drawer ? 'split has' : 'split'}>
      <main class="main" id="main" tabIndex={-1}>
        {children}
      </main>
      {drawer}
    </div>
  )
}

export function Drawer({ label, title, about, children, actions, onClose, onPrevious, onNext }: DrawerProps) {
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !isTyping(event)) onClose()
    }
    addEventListener('keydown', close)
    return () => removeEventListener('keydown', close)
  }, [onClose])
  return (
    <aside class="drawer" aria-label={label}>
      <header>
        <div class="row">
          {title}
          <span class="grow" />
          <button
            type="button"
            class="btn ghost s sq"
            aria-label={t('drawer.previous')}
            disabled={!onPrevious}
            onClick={onPrevious}
          >
            <Icon name="up" />
          </button>
          <button
            type="button"
            class="btn ghost s sq"
            aria-label={t('drawer.next')}
            disabled={!onNext}
            onClick={onNext}
          >
            <Icon name="down" />
          </button>
          <button type="button" class="btn ghost s sq" aria-label={t('drawer.close')} onClick={onClose}>
            <Icon name="x" />
          </button>
        </div>
        {about}
      </header>
      <div class="scrolly">{children}</div>
      {actions && <footer>{actions}</footer>}
    </aside>
  )
}
