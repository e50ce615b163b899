/** The jobs of all states: searched, narrowed by filters, selected, and acted on. */

import { useRef } from 'preact/hooks'
import type { JobCounts, JobDetail, JobHit } from '../../api/types.ts'
import { Split } from '../../components/drawer.tsx'
import { Head } from '../../components/head.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { FROM_THE_START } from '../../components/search.tsx'
import { t } from '../../i18n/index.ts'
import { about, refresh } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { AddJob } from '../job/add.tsx'
import { AskingWhen } from '../job/later.tsx'
import { BulkActions } from '../job-sets/bulk-actions.tsx'
import { SetDrawer } from '../job-sets/drawer.tsx'
import { type ActionName, setOf } from '../job-sets/kinds.ts'
import { type Row, rowsOf } from '../job-sets/row.ts'
import { Selection, useSelection } from '../job-sets/selection.tsx'
import { type SweepName, SweepPanel } from '../job-sets/sweep.tsx'
import { QueuedDrawer } from '../queues/queued.tsx'
import { actionsOn, actionsOnAll, actOnAll, actOnSome, LIST, type Searching } from './actions.ts'
import { filterIn, filterText, statesIn } from './filter.ts'
import { hasDrawer, Rows } from './rows.tsx'
import { countText, Filters, States, withFound } from './tools.tsx'
import { type JobSearch, useSearch } from './use-search.ts'

export default function Jobs() {
  const [query, change] = useQuery()
  const filter = filterIn(query)
  const states = statesIn(query)
  const search = useSearch(states.length > 0 ? { ...filter, state: states.join(',') } : filter)
  const isFiltered = Object.keys(filter).length > 0
  // Without a filter they are the sizes, which cost little. With one they cost a search.
  const counts = useData<JobCounts>('/jobs/counts', filter, { live: !isFiltered })
  const known = counts.data && withFound(counts.data, search.items)
  const searching: Searching = { filter, states, counts: known }
  const { chosen, isAll, choose, chooseAll } = useSelection(JSON.stringify([filter, states]))
  const reload = () => {
    void refresh().catch(() => {})
    void counts.reload()
    search.again()
  }
  const rows = rowsOf(search.items)
  const some = rows.filter(({ id }) => chosen.has(id)).map(({ job }) => job)
  const all = actionsOnAll(searching)
  const total = totalOf(searching)
  const doAll = async (name: ActionName) => {
    const of = all.find(({ act }) => act.name === name)?.states ?? []
    if (await actOnAll(name as SweepName, of, searching)) choose(new Set())
    reload()
  }
  const doSome = async (name: ActionName, jobs: readonly JobHit[]) => {
    const isDone = await actOnSome(name, jobs, reload)
    if (isDone) choose(new Set())
    reload()
    return isDone
  }
  const beside = rows.filter(({ job }) => hasDrawer(job))
  const open = useOpen(beside, query.job)
  const remove = async ({ key }: JobDetail) => {
    if (open && (await doSome('delete', [{ ...open, key }]))) change({ job: null })
  }
  const isAllowed = about.value?.readOnly === false
  return (
    <Split
      drawer={open && <Beside {...{ open, id: query.job ?? '', rows: beside, onDone: reload, onDelete: remove }} />}
    >
      <Head title={t('jobs.title')} {...(total && countText(total) !== '' ? { count: countText(total) } : {})}>
        <button type="button" class="btn" onClick={reload}>
          <Icon name="retries" />
          {t('jobs.again')}
        </button>
        {isAllowed && <AddJob queue={filter.queue} class={filter.class} />}
        {isAllowed && (
          <BulkActions
            actions={all.map(({ act }) => act)}
            labelOf={(name) => t(`sets.head.${name as SweepName}.matching`)}
            onAct={(name) => void doAll(name)}
          />
        )}
      </Head>
      <SweepPanel list={LIST} />
      <section class="panel list">
        <States counts={known} />
        <Filters />
        {isAllowed && chosen.size > 0 && (
          <Selection
            count={isAll ? (total?.matching ?? null) : some.length}
            all={{ count: total?.matching ?? null, isExact: total?.complete ?? false, isNarrow: isFiltered }}
            isAll={isAll}
            canAll={all.length > 0 && search.next !== null}
            actions={isAll ? all.map(({ act }) => act) : actionsOn(some.map(({ state }) => state))}
            onAll={chooseAll}
            onNone={() => choose(new Set())}
            onAct={(name) => void (isAll ? doAll(name) : doSome(name, some))}
          />
        )}
        {search.error && <ErrorNote error={search.error} onRetry={search.again} />}
        {!search.hasBegun && !search.error && <Skeleton rows={8} />}
        {rows.length > 0 && (
          <Rows
            rows={rows}
            chosen={isAllowed ? chosen : undefined}
            onChoose={choose}
            onCancel={(job) => void doSome('cancel', [job])}
          />
        )}
        {search.hasBegun && rows.length === 0 && !search.isSearching && !search.error && (
          <Nothing search={search} isNarrow={isFiltered || states.length > 0} />
        )}
        {search.hasBegun && <Foot search={search} />}
      </section>
      <AskingWhen />
    </Split>
  )
}

/** Returns the open job, also when it has left the list; undefined when none is open. */
function useOpen(rows: readonly Row<JobHit>[], id: string | undefined): JobHit | undefined {
  const last = useRef<Row<JobHit>>(undefined)
  last.current = rows.find((row) => row.id === id) ?? last.current
  return last.current?.id === id ? last.current?.job : undefined
}

interface BesideProps {
  open: JobHit
  /** The id of its row. */
  id: string
  rows: readonly Row<JobHit>[]
  onDone(): void
  onDelete(job: JobDetail): Promise<void>
}

function Beside({ open: { state, queue }, id, rows, onDone, onDelete }: BesideProps) {
  const set = setOf(state)
  if (set) return <SetDrawer set={set} id={id} rows={rows} onDone={onDone} />
  return <QueuedDrawer queue={queue} id={id} rows={rows} onDelete={onDelete} />
}

/** Returns how many jobs of the chosen states match. */
function totalOf({ counts, states }: Searching): { matching: number; complete: boolean } | undefined {
  const all = counts?.items.filter(({ state }) => states.length === 0 || states.includes(state))
  // Without a filter, rows of tasks are not counted.
  if (!all || all.length === 0) return undefined
  return {
    matching: all.reduce((sum, { matching }) => sum + matching, 0),
    complete: all.every(({ complete }) => complete),
  }
}

function Nothing({ search: { next, scanned }, isNarrow }: { search: JobSearch; isNarrow: boolean }) {
  const [query, change] = useQuery()
  if (!isNarrow) {
    return (
      <Empty icon="check" title={t('jobs.none')}>
        {t('jobs.none.what')}
      </Empty>
    )
  }
  const filter = filterIn(query)
  const clear = () =>
    change({ state: null, ...Object.fromEntries(Object.keys(filter).map((name) => [name, null])), ...FROM_THE_START })
  return (
    <Empty
      icon="search"
      title={t(next === null ? 'sets.noMatch' : 'sets.noMatchYet')}
      actions={
        <button type="button" class="btn" onClick={clear}>
          {t('sets.clear')}
        </button>
      }
    >
      <bdi>{filterText(filter)}</bdi>
      <br />
      {t(next === null ? 'searched' : 'sets.scanned', { n: scanned })}
    </Empty>
  )
}

/** How far the search has come, and the way to go on. */
function Foot({ search: { items, next, scanned, isSearching, further } }: { search: JobSearch }) {
  if (items.length === 0 && next === null && !isSearching) return null
  return (
    <div class="more">
      <span role="status">
        {isSearching ? t('jobs.searching', { n: scanned }) : t('sets.shown.search', { n: items.length, scanned })}
      </span>
      {next !== null && (
        <span class="actions">
          <button type="button" class="btn s" disabled={isSearching} onClick={further}>
            {t('jobs.further')}
          </button>
        </span>
      )}
    </div>
  )
}
