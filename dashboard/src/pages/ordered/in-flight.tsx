/** The ids of an ordered queue that workers have fetched and not settled. */

import type { OrderedInFlight, OrderedQueue, Page } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'

export function InFlight({ queue: { name, busy } }: { queue: OrderedQueue }) {
  const [query, change] = useQuery()
  const { data, error, reload } = useData<Page<OrderedInFlight>>(`/ordered/${encoded(name)}/in-flight`)
  const items = data?.items ?? []
  return (
    <>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && items.length === 0 && (
        <Empty icon="check" title={t('ordered.noneInWork')}>
          {t('ordered.noneInWorkWhat')}
        </Empty>
      )}
      {items.length > 0 && (
        <Table
          label={t('ordered.inWork')}
          rows={items}
          columns={columns()}
          keyOf={({ id }) => id}
          open={query.id}
          onOpen={({ id }) => change({ id }, { replace: query.id !== undefined })}
        />
      )}
      {items.length > 0 && busy > items.length && (
        <p class="grp-note dim">{t('ordered.oldestShown', { n: items.length, all: busy })}</p>
      )}
    </>
  )
}

function columns(): Column<OrderedInFlight>[] {
  return [
    {
      name: 'id',
      title: t('ordered.id'),
      class: 'field-cell',
      cell: ({ id }) => <bdi class="cut block mono">{id}</bdi>,
    },
    { name: 'shard', title: t('ordered.shardColumn'), class: 'num dim', cell: ({ shard }) => number(shard) },
    {
      name: 'owner',
      title: t('busy.process'),
      class: 'max hide-s',
      cell: ({ owner }) => <bdi class="cut block">{owner}</bdi>,
    },
    { name: 'since', title: t('ordered.since'), class: 'num', cell: ({ fetchedAt }) => <When at={fetchedAt} /> },
  ]
}
