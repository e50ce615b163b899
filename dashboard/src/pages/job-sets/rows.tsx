/** The list: a line for each job, with what it failed of. */

import type { SetLine } from '../../api/types.ts'
import { FROM_THE_START } from '../../components/search.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'
import { KINDS, type SetName } from './kinds.ts'

export interface Row<Line = SetLine> {
  /** Names it in the list and in the address: its jid, with a number if that comes more than once. */
  id: string
  line: Line
}

export function rowsOf<Line extends { jid: string }>(lines: readonly Line[]): Row<Line>[] {
  const seen = new Map<string, number>()
  return lines.map((line) => {
    const n = (seen.get(line.jid) ?? 0) + 1
    seen.set(line.jid, n)
    return { id: line.jid !== '' && n === 1 ? line.jid : `${line.jid}#${n}`, line }
  })
}

interface RowsProps {
  set: SetName
  rows: readonly Row[]
  desc: boolean
  /** undefined: none can be chosen. */
  chosen: ReadonlySet<string> | undefined
  onChoose(ids: Set<string>): void
}

export function Rows({ set, rows, desc, chosen, onChoose }: RowsProps) {
  const [query, change, link] = useQuery()
  const { hasErrors } = KINDS[set]
  const columns: (Column<Row> | false)[] = [
    {
      name: 'at',
      title: t(`sets.at.${set}`),
      class: 'nowrap',
      cell: ({ line }) => <When at={line.at} />,
      sort: desc ? 'descending' : 'ascending',
      onSort: () => change({ desc: String(!desc), ...FROM_THE_START }),
    },
    {
      name: 'job',
      title: t('sets.job'),
      class: 'max',
      cell: ({ id, line }) => (
        <>
          <a class="cut block job" href={link({ job: id })}>
            <bdi>{visible(line.class)}</bdi>{' '}
            <code class="dim args">
              <bdi>{visible(line.preview)}</bdi>
            </code>
          </a>
          <span class="sub cut">
            <bdi>{hasErrors ? errorOf(line) : visible(line.queue)}</bdi>
          </span>
        </>
      ),
    },
    !hasErrors && {
      name: 'created',
      title: t('sets.created'),
      class: 'num hide-m dim',
      cell: ({ line }) => <When at={line.createdAt} />,
    },
    hasErrors && {
      name: 'failed',
      title: t('sets.failed'),
      class: 'num hide-m dim',
      cell: ({ line }) => <When at={line.retriedAt ?? line.failedAt} />,
    },
    hasErrors && {
      name: 'tries',
      title: t('sets.tries'),
      class: 'num',
      cell: ({ line }) => (
        <>
          {number(line.failures)}
          {line.retries !== null && <span class="dim hide-s"> {t('sets.triesOf', { n: line.retries + 1 })}</span>}
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

function errorOf({ error }: SetLine): string {
  if (error === null) return t('sets.noError')
  const { class: name, message } = error
  if (name === null || message.includes(name)) return visible(message)
  return visible(message === '' ? name : `${name}: ${message}`)
}
