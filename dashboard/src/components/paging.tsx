/** Pages by cursor: next and previous, without numbers. The address holds the cursors. */

import { t } from '../i18n/index.ts'
import { useQuery } from '../live/use-query.ts'
import { Icon } from './icon.tsx'

/** Returns one page of a list that is here as a whole. The address holds the position of its first item as the cursor. */
export function pageOf<Item>(all: readonly Item[], cursor: string | undefined, size: number) {
  // Items may have gone since the address was made.
  const last = Math.max(Math.ceil(all.length / size) - 1, 0) * size
  const from = Math.min(Math.max(Number(cursor ?? 0) || 0, 0), last)
  const to = from + size
  return { items: all.slice(from, to), from, next: to < all.length ? String(to) : null }
}

interface PagingProps {
  /** The `next` of the answer. */
  next: string | null
  /** Describes the shown items. */
  children?: preact.ComponentChildren
}

/** The first page needs no cursor. */
const FIRST = '-'

/** Reads `cursor` and `back` (the cursors of the earlier pages, newest last) from the address. */
export function Paging({ next, children }: PagingProps) {
  const [query, change] = useQuery()
  const before = query.back === undefined ? [] : query.back.split('\n')
  const forth = () => change({ cursor: next, back: [...before, query.cursor ?? FIRST].join('\n') })
  const back = () => {
    const to = before.at(-1)
    change({ cursor: to === FIRST ? null : to, back: before.length > 1 ? before.slice(0, -1).join('\n') : null })
  }
  if (next === null && query.back === undefined) return children ? <div class="more">{children}</div> : null
  return (
    <div class="more">
      <span>{children}</span>
      <span class="actions">
        <button type="button" class="btn s" disabled={query.back === undefined} onClick={back}>
          <Icon name="left" />
          {t('paging.back')}
        </button>
        <button type="button" class="btn s" disabled={next === null} onClick={forth}>
          {t('paging.forth')}
          <Icon name="right" />
        </button>
      </span>
    </div>
  )
}
