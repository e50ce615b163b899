/** An empty list: why it is empty, and where to continue. */

import { at } from '../../base.ts'
import { Empty } from '../../components/notice.tsx'
import { FROM_THE_START } from '../../components/search.tsx'
import { t } from '../../i18n/index.ts'
import { liveStats } from '../../live/live-stats.ts'
import { useQuery } from '../../live/use-query.ts'
import { FILTERS, filterIn, filterText } from './filter.ts'
import type { SetName } from './kinds.ts'

interface NothingProps {
  set: SetName
  isNarrow: boolean
  size: number
  scanned: number
  /** The cursor of the next page; null when the search scanned all jobs. */
  next: string | null
}

export function Nothing({ set, isNarrow, size, scanned, next }: NothingProps) {
  const [query, change] = useQuery()
  if (isNarrow) {
    const clear = () => change({ ...Object.fromEntries(FILTERS.map((name) => [name, null])), ...FROM_THE_START })
    return (
      <Empty
        icon="search"
        title={t(next === null ? 'sets.noMatch' : 'sets.noMatchYet')}
        actions={
          <button type="button" class="btn" onClick={clear}>
            {t('sets.clear')}
          </button>
        }
      >
        <bdi>{filterText(filterIn(query))}</bdi>
        <br />
        {next === null ? t('sets.outside', { n: size }) : t('sets.scanned', { n: scanned })}
      </Empty>
    )
  }
  const dead = liveStats.value?.stats.dead ?? 0
  return (
    <Empty
      icon={set === 'scheduled' ? 'scheduled' : 'check'}
      title={t(`sets.none.${set}`)}
      actions={
        set === 'retries' && dead > 0 ? (
          <a class="btn" href={at('/dead')}>
            {t('sets.seeDead', { n: dead })}
          </a>
        ) : undefined
      }
    >
      {t(`sets.none.${set}.what`)}
      {set === 'finished' && (
        <>
          <br />
          <code>{"keepFinished: { for: '1h', max: 10_000 }"}</code>
        </>
      )}
      {set === 'scheduled' && (
        <>
          <br />
          <code>highkiq enqueue HardJob '[1]' --in 5m</code>
        </>
      )}
    </Empty>
  )
}
