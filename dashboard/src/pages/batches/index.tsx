/** All batches, or those in one state or with a text in their description, newest first. */

import type { Batch, Page } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { FROM_THE_START, Search } from '../../components/search.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { Cancel, StatePill } from './state.tsx'

const STATES: readonly Batch['state'][] = ['running', 'succeeded', 'dead', 'failed']

export default function Batches() {
  const [{ state, search, cursor }, change] = useQuery()
  const isFiltered = state !== undefined || search !== undefined
  const { data, error, reload } = useData<Page<Batch>>('/batches', { state, search, cursor, limit: 100 })
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head title={t('batches.title')} />
      <section class="panel list">
        <div class="tools">
          <Search label={t('batches.search')} placeholder={t('batches.search')} />
          <label>
            <span class="vh">{t('tasks.state')}</span>
            <select
              class="btn"
              value={state ?? ''}
              onChange={(event) => change({ state: event.currentTarget.value, ...FROM_THE_START })}
            >
              <option value="">{t('tasks.allStates')}</option>
              {STATES.map((one) => (
                <option key={one} value={one}>
                  {t(`batches.state.${one}`)}
                </option>
              ))}
            </select>
          </label>
        </div>
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data?.items.length === 0 && isFiltered && (
          <Empty icon="search" title={t('nothingMatches')}>
            {data.next !== null && t('batches.noneYet')}
          </Empty>
        )}
        {data?.items.length === 0 && !isFiltered && (
          <Empty icon="tasks" title={t('batches.none')}>
            {t('batches.noneWhat')}
            <br />
            <code>{'hq.batch({ onSuccess: Report }, () => ImportShop.performBulk(shops))'}</code>
          </Empty>
        )}
        {data && data.items.length > 0 && (
          <Table label={t('batches.title')} rows={data.items} columns={columns(reload)} keyOf={({ bid }) => bid} />
        )}
        {data && <Paging next={data.next} />}
      </section>
    </main>
  )
}

function columns(reload: () => Promise<void>): Column<Batch>[] {
  const counts = ['total', 'pending', 'succeeded', 'dead', 'failed'] as const
  return [
    {
      name: 'batch',
      title: t('batches.batch'),
      class: 'max',
      cell: ({ bid, description, state, waiting }) => (
        <>
          <span class="row wraps">
            <a class="link cut" href={at(`/batches/${bid}`)}>
              <bdi>{description ?? bid}</bdi>
            </a>
            <StatePill state={state} />
          </span>
          <span class="sub cut">
            <code>{bid}</code>{' '}
            {waiting && (
              <a class="link" href={at(`/jobs/${encoded(waiting.jid)}`)}>
                {t('batches.waits')}
              </a>
            )}
          </span>
        </>
      ),
    },
    ...counts.map(
      (name): Column<Batch> => ({
        name,
        title: t(`batches.${name}`),
        class: name === 'pending' ? 'num' : 'num hide-s',
        cell: (batch) => number(batch[name]),
      }),
    ),
    {
      name: 'created',
      title: t('batches.created'),
      class: 'num hide-s',
      cell: ({ createdAt }) => <When at={createdAt} />,
    },
    ...actionColumn((batch: Batch) => (
      <span class="actions-cell">
        <Cancel batch={batch} reload={reload} small />
      </span>
    )),
  ]
}
