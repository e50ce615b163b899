/** The locks of unique jobs, and the jobs that have them. */

import { sendRequest } from '../../api/client.ts'
import type { Acted, Page, UniqueLock } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { Search } from '../../components/search.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'

export default function Locks() {
  const [{ search = '', cursor }] = useQuery()
  const { data, error, reload } = useData<Page<UniqueLock>>('/locks', { search, cursor, limit: 100 })
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head title={t('locks.title')} />
      <section class="panel list">
        <div class="tools">
          <Search label={t('locks.search')} placeholder={t('locks.search')} />
        </div>
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!data && !error && <Skeleton />}
        {data?.items.length === 0 && search !== '' && <Empty icon="search" title={t('nothingMatches')} />}
        {data?.items.length === 0 && search === '' && (
          <Empty icon="copy" title={t('locks.none')}>
            {t('locks.noneWhat')}
            <br />
            <code>{"hq.job('Reindex', { unique: true }, reindex)"}</code>
          </Empty>
        )}
        {data && data.items.length > 0 && (
          <Table label={t('locks.title')} rows={data.items} columns={columns(reload)} keyOf={({ key }) => key} />
        )}
        {data && <Paging next={data.next} />}
      </section>
    </main>
  )
}

function columns(reload: () => Promise<void>): Column<UniqueLock>[] {
  return [
    {
      name: 'holder',
      title: t('locks.holder'),
      class: 'max',
      cell: ({ key, jid }) => (
        <>
          <a class="link cut" href={at(`/jobs/${encoded(jid)}`)}>
            <bdi>{jid}</bdi>
          </a>
          <span class="sub cut">
            <code>{key}</code>
          </span>
        </>
      ),
    },
    {
      name: 'ends',
      title: t('locks.ends'),
      class: 'num',
      cell: ({ endsAt, outlivesJob }) =>
        endsAt === null ? (
          t('locks.withJob')
        ) : (
          <>
            <When at={endsAt} />
            {!outlivesJob && <span class="sub">{t('locks.orWithJob')}</span>}
          </>
        ),
    },
    ...actionColumn((lock: UniqueLock) => <Release lock={lock} reload={reload} />),
  ]
}

function Release({ lock: { key, jid }, reload }: { lock: UniqueLock; reload(): Promise<void> }) {
  const release = async () => {
    const released = sendRequest<Acted>('POST', `/locks/${encoded(key)}/release`, undefined, { jid })
    await reportOutcome(released, ({ done }) => t(done > 0 ? 'locks.released' : 'locks.gone', { key, jid }))
    await reload()
  }
  return (
    <span class="actions-cell">
      <button type="button" class="btn s" data-row-key="r" onClick={() => void release()}>
        {t('locks.release')}
      </button>
    </span>
  )
}
