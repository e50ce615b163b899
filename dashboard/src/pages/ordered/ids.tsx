/** A list of ids that can be selected, and the actions on them. */

import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { sendRequest } from '../../api/client.ts'
import type { OrderedQueue, Page } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { confirm } from '../../components/confirm.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { FROM_THE_START, Search } from '../../components/search.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { reportOutcome } from '../../components/toast.tsx'
import { t, type Word } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { visible } from '../job/json.tsx'
import { useSelection } from '../job-sets/selection.tsx'

export interface IdAction {
  /** The last part of the route. */
  name: string
  button: Word
  /** The question, its explanation and its button: "Delete 3 ids?"; without it the page does not ask. */
  ask?: { title: Word; body: Word; act: Word }
  key?: string
}

interface IdsProps<Item> {
  queue: OrderedQueue
  reload(): Promise<void>
  /** The first part of the routes: `/ordered/NAME/waiting`. */
  list: 'waiting' | 'morgue'
  /** The sort orders; the first is the default. */
  sortings: readonly { by: string; word: Word }[]
  columns(done: Done): readonly Column<Item>[]
  actions: readonly IdAction[]
  empty: { title: Word; what: Word }
  /** Further tools: actions on all ids. */
  children?: (done: Done) => ComponentChildren
}

/** Loads the list and the queue again after an action. */
export type Done = () => Promise<unknown>

export const DELETE: IdAction = {
  name: 'delete',
  button: 'ordered.delete',
  ask: { title: 'ordered.deleteTitle', body: 'ordered.deleteBody', act: 'ordered.deleteAct' },
  key: 'D',
}

export function Ids<Item extends { id: string }>({
  queue,
  reload,
  list,
  sortings,
  columns,
  actions,
  empty,
  children,
}: IdsProps<Item>) {
  const [query, change] = useQuery()
  const { from, cursor, desc } = query
  // A start value is an id, so the list is sorted by id.
  const by = from ? 'id' : (query.by ?? sortings[0]?.by)
  const path = `/ordered/${encoded(queue.name)}/${list}`
  const listQuery = { by, from, cursor, desc, limit: 25 }
  const { chosen, choose } = useSelection(JSON.stringify(listQuery))
  const { data, error, reload: again } = useData<Page<Item>>(path, listQuery)
  const canAct = about.value?.readOnly === false
  const done = () => Promise.all([again(), reload()])
  const ids = (data?.items ?? []).flatMap(({ id }) => (chosen.has(id) ? [id] : []))
  useEffect(() => {
    // An id that left the list may come back with other payloads.
    if (data && ids.length < chosen.size) choose(new Set(ids))
  })
  const act = async ({ name, ask }: IdAction) => {
    const n = ids.length
    const question = ask && { title: t(ask.title, { n }), body: t(ask.body), act: t(ask.act, { n }), count: n }
    if (question && !(await confirm(question))) return
    await reportOutcome(sendRequest<{ ids: number }>('POST', `${path}/${name}`, { ids }), ({ ids }) =>
      t('ordered.did', { n: ids }),
    )
    choose(new Set())
    await done()
  }
  return (
    <>
      <div class="tools">
        <Search name="from" label={t('ordered.from')} placeholder={t('ordered.from')} />
        <label>
          <span class="vh">{t('ordered.sort')}</span>
          <select
            class="btn"
            value={by}
            onChange={(event) => change({ by: event.currentTarget.value, from: null, ...FROM_THE_START })}
          >
            {sortings.map(({ by, word }) => (
              <option key={by} value={by}>
                {t(word)}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="btn"
          aria-pressed={desc === 'true'}
          onClick={() => change({ desc: desc === 'true' ? null : 'true', ...FROM_THE_START })}
        >
          {t('ordered.desc')}
        </button>
        {children && (
          <>
            <span class="grow" />
            {children(done)}
          </>
        )}
      </div>
      {ids.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: it is no part of the page's outline
        <div class="bulk" role="region" aria-label={t('chosen.title')}>
          <b class="b">{t('chosen', { n: ids.length })}</b>
          <span class="actions">
            {actions.map((one) => (
              <button
                key={one.name}
                type="button"
                class={one.ask ? 'btn risk' : 'btn'}
                {...(one.key ? { 'data-key': one.key } : {})}
                onClick={() => void act(one)}
              >
                {t(one.button)}
              </button>
            ))}
          </span>
        </div>
      )}
      {error && <ErrorNote error={error} onRetry={again} />}
      {!data && !error && <Skeleton />}
      {data?.items.length === 0 && (
        <Empty icon={from ? 'search' : 'check'} title={from ? t('nothingMatches') : t(empty.title)}>
          {from ? '' : t(empty.what)}
        </Empty>
      )}
      {data && data.items.length > 0 && (
        <Table
          label={t(`ordered.${list}`)}
          rows={data.items}
          columns={columns(done)}
          keyOf={({ id }) => id}
          {...(canAct ? { chosen, onChoose: choose } : {})}
          open={query.id}
          onOpen={({ id }) => change({ id }, { replace: query.id !== undefined })}
        />
      )}
      {data && (
        <Paging next={data.next}>{data.items.length > 0 && t('ordered.shown', { n: data.items.length })}</Paging>
      )}
    </>
  )
}

/** Shows the first payloads unchanged. */
export function payloadText(payloads: readonly { payload: unknown }[]): string {
  const [first] = payloads
  return first === undefined ? '–' : visible((JSON.stringify(first.payload) ?? '–').slice(0, 300))
}
