/** Keys that work everywhere, and the list of all of them. */

import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { at } from '../base.ts'
import { useModal } from '../components/modal.ts'
import { isTyping } from '../components/table.tsx'
import { undoLast } from '../components/toast.tsx'
import { t, type Word } from '../i18n/index.ts'
import { openFinder } from './find.tsx'
import { LINKS } from './links.ts'

const isShown = signal(false)

export function keysShown(so: boolean): void {
  isShown.value = so
}

const LIST: readonly [keys: string, word: Word][] = [
  ['/', 'keys.filter'],
  ['Ctrl K', 'keys.find'],
  ['j k ↑ ↓', 'keys.rows'],
  ['x', 'keys.choose'],
  ['Enter', 'keys.open'],
  ['Esc', 'keys.close'],
  ['r', 'keys.retry'],
  ['Shift D', 'keys.delete'],
  ['p', 'keys.pause'],
  ['n', 'keys.add'],
  ['e', 'keys.edit'],
  ['z', 'keys.undo'],
  ['?', 'keys.list'],
]

const SECOND_MS = 1500
const ACTIONS = ['r', 'p', 'D', 'n', 'e']
/** The actions on one item. Beside an open drawer they do not apply to the whole page. */
const ON_ITEM = ['r', 'D', 'e']

/**
 * Each of the keys r, Shift D, p, n and e clicks the button that has it as its `data-key`: among the selected rows, else in
 * the drawer, else in the focused row (there `data-row-key`), else on the page.
 */
export function Keys() {
  const { route } = useLocation()
  // The time of the last `g`. The page's clock begins at 0, so 0 would be a `g` at the moment of loading.
  const begun = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        openFinder()
        return
      }
      // A key that is held down must not act on the jobs that come next.
      if (isTyping(event) || event.repeat) return
      const isSecond = performance.now() - begun.current < SECOND_MS
      begun.current = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY
      const link = isSecond && LINKS.flat().find(({ key }) => key === event.key)
      if (link) route(at(link.path))
      else if (event.key === '/') focusSearch(event)
      else if (event.key === '?') isShown.value = true
      else if (event.key === 'z') undoLast()
      else if (ACTIONS.includes(event.key)) press(event.key, event)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [route])
  return isShown.value ? <List /> : null
}

function focusSearch(event: KeyboardEvent): void {
  event.preventDefault()
  document.querySelector<HTMLInputElement>('input[data-search]')?.focus()
}

function press(key: string, event: KeyboardEvent): void {
  const find = (place: Element | null | undefined, name = 'data-key') =>
    place?.querySelector<HTMLButtonElement>(`button[${name}="${key}"]:not(:disabled)`)
  const drawer = document.querySelector('.drawer')
  const button =
    find(document.querySelector('.bulk')) ??
    find(drawer) ??
    find(document.activeElement?.closest('tr[data-key]'), 'data-row-key') ??
    (drawer && ON_ITEM.includes(key) ? undefined : find(document.body))
  // The key must not be typed into the first field of a form that opens.
  event.preventDefault()
  button?.click()
}

function List() {
  const dialog = useModal()
  useEffect(() => {
    // The focus is on the button below the list, which may be longer than the window.
    dialog.current?.scrollTo(0, 0)
  }, [])
  const close = () => keysShown(false)
  return (
    <dialog ref={dialog} class="dialog wide" aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">{t('keys.title')}</h2>
      <ul class="key-list">
        {[...LIST, ...LINKS.flat().map(({ key, title }) => [`g ${key}`, title] as const)].map(([keys, word]) => (
          <li key={keys}>
            {t(word)}
            <span class="n">
              <kbd>{keys}</kbd>
            </span>
          </li>
        ))}
      </ul>
      <div class="actions">
        <button type="button" class="btn" onClick={close}>
          {t('drawer.close')}
        </button>
      </div>
    </dialog>
  )
}
