/** One batch with its callbacks and its open members. */

import { useCallback } from 'preact/hooks'
import { useRoute } from 'preact-iso'
import type { Batch, BatchMember, Page } from '../../api/types.ts'
import { at, encoded, nameOf } from '../../base.ts'
import { Head } from '../../components/head.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { Pill } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { EmptyTiles, Tile, Tiles } from '../../components/tile.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { Cancel, StatePill } from './state.tsx'

const COUNTS = ['total', 'pending', 'succeeded', 'dead', 'failed'] as const
/** The status of a row that looks like the state of a member. */
const LIKE = { waiting: 'enqueued', retrying: 'failed', dead: 'error' } as const

export default function BatchPage() {
  const path = `/batches/${encoded(nameOf(useRoute().params.bid ?? ''))}`
  const { data: batch, error, reload } = useData<Batch>(path)
  const [{ cursor }] = useQuery()
  const members = useData<Page<BatchMember>>(`${path}/members`, { cursor, limit: 50 })
  const again = useCallback(() => Promise.all([reload(), members.reload()]), [reload, members.reload])
  if (error) {
    return (
      <main class="main" id="main" tabIndex={-1}>
        <Head title={t('batches.batch')} />
        <ErrorNote error={error} onRetry={reload} />
      </main>
    )
  }
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head
        title={batch?.description ?? batch?.bid ?? t('batches.batch')}
        pill={batch && <StatePill state={batch.state} />}
        facts={batch ? factsOf(batch) : []}
      >
        {batch && about.value?.readOnly === false && <Cancel batch={batch} reload={again} />}
      </Head>
      {batch ? (
        <Tiles columns={5}>
          {COUNTS.map((name) => (
            <Tile key={name} label={t(`batches.${name}`)} value={number(batch[name])} />
          ))}
        </Tiles>
      ) : (
        <EmptyTiles columns={5} />
      )}
      {batch && batch.callbacks.length > 0 && (
        <section class="panel list section">
          <Table
            label={t('batches.callbacks')}
            rows={batch.callbacks}
            columns={callbackColumns()}
            keyOf={({ when }) => when}
          />
        </section>
      )}
      <section class="panel list section">
        {members.error && <ErrorNote error={members.error} onRetry={members.reload} />}
        {!members.data && !members.error && <Skeleton />}
        {members.data?.items.length === 0 && <Empty icon="tasks" title={t('batches.noMembers')} />}
        {members.data && members.data.items.length > 0 && (
          <Table
            label={t('batches.members')}
            rows={members.data.items}
            columns={memberColumns()}
            keyOf={({ id }) => id}
          />
        )}
        {members.data && <Paging next={members.data.next} />}
      </section>
    </main>
  )
}

function factsOf({ bid, parent, waiting, createdAt }: Batch) {
  return [
    <code key="bid">{bid}</code>,
    <When key="at" at={createdAt} />,
    parent !== null && (
      <a class="link" href={at(`/batches/${parent}`)}>
        {t('batches.parent')}
      </a>
    ),
    waiting && (
      <a class="link" href={at(`/jobs/${encoded(waiting.jid)}`)}>
        {t('batches.waits')}
      </a>
    ),
  ]
}

function callbackColumns(): Column<Batch['callbacks'][number]>[] {
  return [
    { name: 'when', title: t('batches.callback'), cell: ({ when }) => <code>{when}</code> },
    {
      name: 'job',
      title: t('batches.job'),
      class: 'max',
      cell: ({ job, jid, pushedAt }) =>
        pushedAt === null ? (
          <bdi>{job}</bdi>
        ) : (
          <a class="link" href={at(`/jobs/${encoded(jid)}`)}>
            <bdi>{job}</bdi>
          </a>
        ),
    },
    {
      name: 'pushed',
      title: t('batches.pushed'),
      class: 'num',
      cell: ({ pushedAt }) => (pushedAt === null ? '–' : <When at={pushedAt} />),
    },
  ]
}

function memberColumns(): Column<BatchMember>[] {
  return [
    {
      name: 'member',
      title: t('batches.members'),
      class: 'max',
      cell: ({ id, batch }) => (
        <>
          <a class="link mono" href={at(batch === null ? `/jobs/${encoded(id)}` : `/batches/${batch}`)}>
            <bdi>{id}</bdi>
          </a>
          {batch !== null && <span class="sub">{t(batch === id ? 'batches.nested' : 'batches.flow')}</span>}
        </>
      ),
    },
    {
      name: 'state',
      title: t('batches.memberState'),
      cell: ({ state }) => <Pill like={LIKE[state]}>{t(`batches.member.${state}`)}</Pill>,
    },
  ]
}
