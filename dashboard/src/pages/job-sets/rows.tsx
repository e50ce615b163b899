/** The list of a job set: a row for each job, with its error. */

import type { JobSetEntry } from '../../api/types.ts'
import { FROM_THE_START } from '../../components/search.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'
import { KINDS, type SetName } from './kinds.ts'
import type { Row } from './row.ts'

interface RowsProps {
  set: SetName
  rows: readonly Row<JobSetEntry>[]
  desc: boolean
  /** undefined when rows can't be selected. */
  chosen: ReadonlySet<string> | undefined
  onChoose(ids: Set<string>): void
}

export function Rows({ set, rows, desc, chosen, onChoose }: RowsProps) {
  const [query, change, link] = useQuery()
  const { hasErrors } = KINDS[set]
  const columns: (Column<Row<JobSetEntry>> | false)[] = [
    {
      name: 'at',
      title: t(`sets.at.${set}`),
      class: 'nowrap',
      cell: ({ job }) => <When at={job.at} />,
      sort: desc ? 'descending' : 'ascending',
      onSort: () => change({ desc: String(!desc), ...FROM_THE_START }),
    },
    {
      name: 'job',
      title: t('sets.job'),
      class: 'max',
      cell: ({ id, job }) => (
        <>
          <a class="cut block job" href={link({ job: id })}>
            <bdi>{visible(job.class)}</bdi>{' '}
            <code class="dim args">
              <bdi>{visible(job.preview)}</bdi>
            </code>
          </a>
          <span class="sub cut">
            <bdi>{hasErrors ? errorOf(job) : visible(job.queue)}</bdi>
          </span>
        </>
      ),
    },
    !hasErrors && {
      name: 'created',
      title: t('sets.created'),
      class: 'num hide-m dim',
      cell: ({ job }) => <When at={job.createdAt} />,
    },
    hasErrors && {
      name: 'failed',
      title: t('sets.failed'),
      class: 'num hide-m dim',
      cell: ({ job }) => <When at={job.retriedAt ?? job.failedAt} />,
    },
    hasErrors && {
      name: 'tries',
      title: t('sets.attempts'),
      class: 'num',
      cell: ({ job }) => (
        <>
          {number(job.failures)}
          {job.retries !== null && <span class="dim hide-s"> {t('sets.attemptsOf', { n: job.retries + 1 })}</span>}
        </>
      ),
    },
  ]
  return (
    <Table
      label={t(`sets.${set}`)}
      rows={rows}
      columns={columns.filter((one) => one !== false)}
      keyOf={({ id }) => id}
      {...(chosen ? { chosen, onChoose } : {})}
      open={query.job}
      onOpen={({ id }) => change({ job: id }, { replace: query.job !== undefined })}
    />
  )
}

export function errorOf({ error }: Pick<JobSetEntry, 'error'>): string {
  if (error === null) return t('sets.noError')
  const { class: name, message } = error
  if (name === null || message.includes(name)) return visible(message)
  return visible(message === '' ? name : `${name}: ${message}`)
}
