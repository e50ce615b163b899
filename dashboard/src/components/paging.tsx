/** Pages by cursor: next and previous, without numbers. The address holds the cursors. */

import { t } from '../i18n/index.ts'
import { useQuery } from '../live/use-query.ts'
import { Icon } from './icon.tsx'

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
      <span class="acts">
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
