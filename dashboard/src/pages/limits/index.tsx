/** The limits in use, with the jobs that wait for room in them. */

import type { Limit, Page } from '../../api/types.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { Chip } from '../../components/search.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { number } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { LimitActions } from './change.tsx'
import { limitName } from './name.ts'

const APP = { id: 'app', kind: 'app', name: '' } as const

export default function Limits() {
  const [{ id, cursor }] = useQuery()
  const { data, error, reload } = useData<Page<Limit>>('/limits', { id, cursor, limit: 100 })
  // By name it is the first.
  const hasApp = id !== undefined || cursor !== undefined || data?.items.some(({ kind }) => kind === 'app')
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head title={t('limits.title')}>{data && !hasApp && <LimitActions limit={APP} reload={reload} />}</Head>
      <section class="panel list">
        {id !== undefined && (
          <div class="tools">
            <Chip name="id" label={t('limits.limit')} />
          </div>
        )}
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data?.items.length === 0 && id !== undefined && <Empty icon="group" title={t('nothingMatches')} />}
        {data?.items.length === 0 && id === undefined && (
          <Empty icon="group" title={t('limits.none')}>
            {t('limits.noneWhat')}
            <br />
            <code>{"hq.job('Charge', { limit: { concurrency: 5 } }, charge)"}</code>
          </Empty>
        )}
        {data && data.items.length > 0 && (
          <Table label={t('limits.title')} rows={data.items} columns={columns(reload)} keyOf={keyOf} />
        )}
        {data && <Paging next={data.next} />}
      </section>
    </main>
  )
}

function keyOf({ kind, name, position, key }: Limit): string {
  return JSON.stringify([kind, name, position, key])
}

function columns(reload: () => Promise<void>): Column<Limit>[] {
  return [
    {
      name: 'limit',
      title: t('limits.limit'),
      class: 'max',
      cell: ({ kind, name, position, key, set, code }) => (
        <>
          <span class="row wraps">
            <bdi class="whole">{limitName({ kind, name, position })}</bdi>
            {set && (
              <span
                class="tag"
                title={code ? t('limits.codeHas', { numbers: numbersOf(code) }) : t('limits.notInCode')}
              >
                {t('limits.set')}
              </span>
            )}
          </span>
          {key !== null && (
            <span class="sub cut">
              <code>{key}</code>
            </span>
          )}
        </>
      ),
    },
    {
      name: 'used',
      title: t('limits.used'),
      class: 'num nowrap',
      cell: ({ used, concurrency }) =>
        concurrency === null ? '' : t('limits.usedOf', { n: number(used), most: number(concurrency) }),
    },
    {
      name: 'rate',
      title: t('limits.rate'),
      class: 'num hide-s',
      cell: ({ rate, per }) => rateOf({ rate, per }),
    },
    { name: 'waiting', title: t('limits.waiting'), class: 'num nowrap', cell: ({ waiting }) => number(waiting) },
    {
      name: 'next',
      title: t('limits.next'),
      class: 'num hide-s',
      cell: ({ nextStart }) =>
        nextStart === null ? '' : nextStart === 0 ? t('limits.now') : t('limits.in', { time: duration(nextStart) }),
    },
    ...actionColumn((limit: Limit) => <LimitActions limit={limit} reload={reload} />),
  ]
}

function rateOf({ rate, per }: Pick<Limit, 'rate' | 'per'>): string {
  return rate === null || per === null ? '' : t('limits.ratePer', { n: number(rate), time: duration(per) })
}

function numbersOf(figures: NonNullable<Limit['code']>): string {
  const { concurrency } = figures
  const parts = [concurrency === null ? '' : t('limits.atOnce', { n: concurrency }), rateOf(figures)]
  return parts.filter(Boolean).join(', ') || t('limits.noNumber')
}
