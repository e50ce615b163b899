/** The rows of a task with the chosen status; at first the rejected rows. */

import type { EventStatus, Page, TaskEvent, TaskStatus } from '../../api/types.ts'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { AddChip, Chip, FROM_THE_START, Search } from '../../components/search.tsx'
import { IN_ORDER, Status } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { lastMessageText } from '../../format/message.ts'
import { number } from '../../format/number.ts'
import { language, t } from '../../i18n/index.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { Deadline, isDeferred } from './deferred.tsx'
import { MemberChips, memberFilters, withoutFilters } from './member-chips.tsx'

const REJECTED = 'failed,error,cancelled'
const FIELDS = 2

/** @param codes the codes to offer as a filter */
export function Rows({ task, codes }: { task: TaskStatus; codes: readonly string[] }) {
  const [query, change, link] = useQuery()
  const { status = REJECTED, code, withoutCode, otherCodes, search, cursor, row } = query
  const fields = memberFilters(query, 'field')
  const { data, error, reload } = useData<Page<TaskEvent>>(`/tasks/${task.id}/events`, {
    ...fields,
    status,
    code,
    withoutCode,
    otherCodes,
    search,
    cursor,
    limit: 25,
    lang: language.value,
  })
  const isByCode = [code, withoutCode, otherCodes].some((one) => one !== undefined)
  const isFiltered = isByCode || query.status !== undefined || search !== undefined || Object.keys(fields).length > 0
  const byCode = { code: null, withoutCode: null, otherCodes: null }
  const clear = () => change({ ...byCode, ...withoutFilters(fields), status: null, search: null, ...FROM_THE_START })
  return (
    <section class="panel list section" id="rows">
      <header>
        <h2>{query.status === undefined ? t('task.rejectedRows') : t('task.rows')}</h2>
      </header>
      <div class="tools">
        <Search label={t('task.searchRows')} placeholder={t('task.searchRows')} />
        <label>
          <span class="vh">{t('task.status')}</span>
          <select
            class="btn"
            value={query.status ?? ''}
            onChange={(event) => change({ status: event.currentTarget.value, ...FROM_THE_START })}
          >
            <option value="">{t('task.rejectedRows')}</option>
            {[...new Set([...IN_ORDER, query.status])].map(
              (one) =>
                one && (
                  <option key={one} value={one}>
                    {isStatus(one) ? t(`status.${one}`) : one}
                  </option>
                ),
            )}
          </select>
        </label>
        <Chip name="code" label={t('task.code')} />
        <Chip name="withoutCode" label={t('task.code')} value={t('task.noCode')} />
        <Chip name="otherCodes" label={t('task.code')} value={t('task.otherCodes')} />
        {!isByCode && <AddChip name="code" label={t('task.code')} known={codes} />}
        <MemberChips name="field" label={t('task.field')} />
      </div>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data?.items.length === 0 && data.next === null && (
        <Empty
          icon={isFiltered ? 'search' : 'check'}
          title={isFiltered ? t('nothingMatches') : t('task.noneRejected')}
          actions={
            isFiltered && (
              <button type="button" class="btn" onClick={clear}>
                {t('clearFilters')}
              </button>
            )
          }
        >
          {isFiltered ? '' : t('task.noneRejectedWhat')}
        </Empty>
      )}
      {data && data.items.length > 0 && (
        <Table
          label={t('task.rows')}
          rows={data.items}
          columns={columnsOf(data.items, (jid) => link({ row: jid }))}
          keyOf={({ jid }) => jid}
          open={row}
          onOpen={({ jid }) => change({ row: jid }, { replace: row !== undefined })}
        />
      )}
      {data && <Paging next={data.next} />}
    </section>
  )
}

const isStatus = (text: string): text is EventStatus => (IN_ORDER as readonly string[]).includes(text)

function columnsOf(rows: readonly TaskEvent[], linkTo: (jid: string) => string): Column<TaskEvent>[] {
  const fields = fieldsOf(rows)
  return [
    {
      name: 'row',
      title: t('task.row'),
      class: 'num',
      cell: ({ number: n, index, jid }) => <a href={linkTo(jid)}>{number(n ?? index + 1)}</a>,
    },
    { name: 'status', title: t('tasks.state'), class: 'hide-s', cell: ({ status }) => <Status status={status} /> },
    ...fields.map((field, nth) => ({
      name: `field ${field}`,
      title: <bdi>{field}</bdi>,
      class: 'hide-m field-cell',
      cell: ({ args }: TaskEvent) => <Field args={args} fields={fields} nth={nth} />,
    })),
    {
      name: 'reason',
      title: t('task.reason'),
      class: 'max',
      cell: ({ messages, code, args, status, deferredUntil }) => (
        <>
          {fields[0] !== undefined && (
            <span class="only-s b">
              <Field args={args} fields={fields} nth={0} />
            </span>
          )}
          <bdi class="cut block">{lastMessageText(messages) ?? '–'}</bdi>
          {code !== null && (
            <span class="sub cut">
              <code>{code}</code>
            </span>
          )}
          {isDeferred({ status, deferredUntil }) && (
            <span class="sub">
              <Deadline until={deferredUntil} />
            </span>
          )}
        </>
      ),
    },
    { name: 'runs', title: t('task.attemptsColumn'), class: 'num hide-m', cell: ({ attempts }) => number(attempts) },
    { name: 'ended', title: t('tasks.ended'), class: 'num dim', cell: ({ finishedAt }) => <When at={finishedAt} /> },
  ]
}

/**
 * Shows the nth of these fields. A row that the import refused has the columns of the file, and the others have the fields
 * that these became. So a row without any of these fields shows its own first ones with their names.
 */
function Field({ args, fields, nth }: { args: unknown[] | null; fields: readonly string[]; nth: number }) {
  const row = membersOf(args)
  const isOther = !fields.some((field) => Object.hasOwn(row, field))
  const field = (isOther ? Object.keys(row) : fields)[nth]
  return (
    <bdi class="cut block">
      {isOther && field !== undefined && <span class="dim">{field}: </span>}
      {shown(field === undefined ? undefined : row[field])}
    </bdi>
  )
}

/** Returns the first fields of the first row that has some. */
function fieldsOf(rows: readonly TaskEvent[]): string[] {
  return Object.keys(membersOf(rows.find(({ args }) => args !== null)?.args ?? null)).slice(0, FIELDS)
}

/** Returns the members of a row that is an object, or the arguments of another by their places. */
function membersOf(args: unknown[] | null): Record<string, unknown> {
  const [first] = args ?? []
  return isObject(first) ? first : { ...args }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const LONGEST = 120

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : value === undefined ? '–' : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
