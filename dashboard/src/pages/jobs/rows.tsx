/** The found jobs: a row for each, with its state and its error. */

import { useLocation } from 'preact-iso'
import type { JobHit } from '../../api/types.ts'
import { at, encoded, queryValue } from '../../base.ts'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useQuery } from '../../live/use-query.ts'
import { JobPill } from '../job/detail.tsx'
import { visible } from '../job/json.tsx'
import { setOf } from '../job-sets/kinds.ts'
import type { Row } from '../job-sets/row.ts'
import { errorOf } from '../job-sets/rows.tsx'

interface RowsProps {
  rows: readonly Row<JobHit>[]
  /** undefined when rows can't be selected. */
  chosen: ReadonlySet<string> | undefined
  onChoose(ids: Set<string>): void
  onCancel(job: JobHit): void
}

/** Jobs that have no drawer open as a page of their own. */
export function hasDrawer({ state }: JobHit): boolean {
  return state === 'queued' || setOf(state) !== null
}

export function Rows({ rows, chosen, onChoose, onCancel }: RowsProps) {
  const [query, change, link] = useQuery()
  const { route } = useLocation()
  const pageOf = ({ jid, state, queue, orderedId }: JobHit) => {
    if (orderedId === null) return at(`/jobs/${encoded(jid)}`)
    const tab = state === 'morgue' ? 'morgue' : 'waiting'
    return at(`/ordered/${encoded(queue)}?tab=${tab}&id=${queryValue(orderedId)}`)
  }
  const columns: Column<Row<JobHit>>[] = [
    {
      name: 'state',
      title: t('jobs.state'),
      class: 'hide-s',
      cell: ({ job }) => <JobPill job={job} state={job.state} />,
    },
    {
      name: 'job',
      title: t('sets.job'),
      class: 'max',
      cell: ({ id, job }) => (
        <>
          <a class="cut block job" href={hasDrawer(job) ? link({ job: id }) : pageOf(job)}>
            <bdi>{visible(job.class)}</bdi>{' '}
            <code class="dim args">
              <bdi>{visible(job.preview)}</bdi>
            </code>
          </a>
          <span class="sub cut">
            <span class="only-s">{t(`job.state.${job.state}`)}</span>
            <bdi>{job.error ? errorOf(job) : visible(job.queue)}</bdi>
          </span>
        </>
      ),
    },
    { name: 'at', title: t('jobs.at'), class: 'num nowrap dim', cell: ({ job }) => <When at={job.at} /> },
  ]
  const actions: Column<Row<JobHit>> = {
    name: 'actions',
    title: <span class="vh">{t('actions')}</span>,
    class: 'num',
    cell: ({ job }) =>
      job.state === 'running' && (
        <button type="button" class="btn s risk" onClick={() => onCancel(job)}>
          {t('sets.cancel')}
        </button>
      ),
  }
  const isCancelling = about.value?.readOnly === false && rows.some(({ job }) => job.state === 'running')
  return (
    <Table
      label={t('jobs.title')}
      rows={rows}
      columns={isCancelling ? [...columns, actions] : columns}
      keyOf={({ id }) => id}
      {...(chosen ? { chosen, onChoose } : {})}
      open={query.job}
      onOpen={({ id, job }) => {
        if (hasDrawer(job)) change({ job: id }, { replace: query.job !== undefined })
        else route(pageOf(job))
      }}
    />
  )
}
