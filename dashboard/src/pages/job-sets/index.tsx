/** The retries, scheduled, dead and finished jobs: grouped by error, searched, selected, and acted on. */

import { useEffect, useRef } from 'preact/hooks'
import type { ApiError } from '../../api/client.ts'
import type { ErrorGroups, JobSetEntry, Page, Searched } from '../../api/types.ts'
import { Split } from '../../components/drawer.tsx'
import { Head } from '../../components/head.tsx'
import { Icon } from '../../components/icon.tsx'
import { ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { AddChip, Chip, Search } from '../../components/search.tsx'
import { When } from '../../components/time.tsx'
import { number } from '../../format/number.ts'
import { clock } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { about, liveStats, refresh } from '../../live/live-stats.ts'
import { useQueueNames } from '../../live/queues.ts'
import { type Data, useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { isOverdue } from '../job/detail.tsx'
import { AskingWhen } from '../job/later.tsx'
import { act } from './actions.ts'
import { BulkActions } from './bulk-actions.tsx'
import { SetDrawer } from './drawer.tsx'
import { Nothing } from './empty.tsx'
import { type Filter, filterIn, isFiltered } from './filter.ts'
import { Groups } from './groups.tsx'
import { type ActionName, KINDS, type SetName } from './kinds.ts'
import { MoreFilters } from './more-filters.tsx'
import { rowsOf } from './row.ts'
import { Rows } from './rows.tsx'
import { Selection, useSelection } from './selection.tsx'
import { type Count, type SweepName, SweepPanel, sweep } from './sweep.tsx'

const LIMIT = 50

/** The page starts anew for another set. */
export default function Sets({ set }: { set: SetName }) {
  return <SetPage key={set} set={set} />
}

function SetPage({ set }: { set: SetName }) {
  const [query] = useQuery()
  const kind = KINDS[set]
  const filter = filterIn(query)
  const isNarrow = isFiltered(filter)
  const desc = query.desc === undefined ? kind.desc : query.desc === 'true'
  const isGrouped = kind.hasErrors && query.groups !== 'off'
  const size = set === 'finished' ? undefined : liveStats.value?.stats[set]

  const listQuery = { ...filter, desc, cursor: query.cursor, limit: LIMIT }
  const { chosen, isAll, choose, chooseAll } = useSelection(JSON.stringify(listQuery))
  const list = useKept(useData<Searched<JobSetEntry>>(`/${set}`, listQuery, { live: chosen.size === 0 }))
  const rows = rowsOf(list.data?.items ?? [])
  const { groups, matching, error: errorOfGroups, reload: reloadErrors } = useErrors(set, filter)
  const error = list.error ?? errorOfGroups
  const all: Count = isNarrow ? matching : { count: size ?? null, isExact: true }

  // The time at which the next job is due, or the last job died or finished.
  const [next] = useData<Page<JobSetEntry>>(`/${set}`, { limit: 1, desc: kind.desc }).data?.items ?? []
  const cause = causeOf(groups)

  const isAllowed = about.value?.readOnly === false
  const reload = () => {
    void refresh().catch(() => {})
    void list.reload()
    reloadErrors()
  }
  const doAll = async (name: SweepName) => {
    if (await sweep(name, { set, filter })) choose(new Set())
    reload()
  }
  const some = rows.filter(({ id }) => chosen.has(id)).map(({ job }) => job)
  const labelOf = (name: ActionName) => t(`sets.head.${name as 'retry'}${isNarrow ? '.matching' : ''}`)
  return (
    <Split drawer={query.job !== undefined && <SetDrawer set={set} id={query.job} rows={rows} onDone={reload} />}>
      <Head
        title={t(`sets.${set}`)}
        {...(size === undefined ? {} : { count: number(size) })}
        facts={[
          next && (
            <>
              {t(isOverdue(next.at, kind.state) ? 'sets.next.due' : `sets.next.${set}`)} <When at={next.at} />
            </>
          ),
          cause && t('sets.shared', { n: cause.count, at: clock(cause.since) }),
        ]}
      >
        {isAllowed && size !== 0 && (
          <BulkActions
            actions={kind.actions.filter(({ isForAll }) => isForAll)}
            labelOf={labelOf}
            onAct={(name) => void doAll(name as SweepName)}
          />
        )}
      </Head>
      <SweepPanel list={set} />
      <section class="panel list">
        <Tools set={set} isGrouped={isGrouped} groups={groups} />
        {isGrouped && groups && <Groups groups={groups} />}
        {isAllowed && chosen.size > 0 && (
          <Selection
            count={isAll ? all.count : some.length}
            all={{ ...all, isNarrow }}
            isAll={isAll}
            canAll={all.count === null || all.count > some.length}
            actions={kind.actions}
            onAll={() => chooseAll()}
            onNone={() => choose(new Set())}
            onAct={async (name) => {
              if (isAll && name !== 'reschedule' && name !== 'cancel') return doAll(name)
              if (await act(set, name, some, reload)) choose(new Set())
              reload()
            }}
          />
        )}
        {error && <ErrorNote error={error} onRetry={reload} />}
        {!list.data && !list.error && <Skeleton rows={8} />}
        {rows.length > 0 && (
          <Rows set={set} rows={rows} desc={desc} chosen={isAllowed ? chosen : undefined} onChoose={choose} />
        )}
        {list.data && rows.length === 0 && (
          <Nothing set={set} isNarrow={isNarrow} size={size ?? 0} scanned={list.data.scanned} next={list.data.next} />
        )}
        {list.data && (
          <Paging next={list.data.next}>
            <Shown shown={rows.length} scanned={list.data.scanned} size={isNarrow ? undefined : size} />
          </Paging>
        )}
      </section>
      <AskingWhen />
    </Split>
  )
}

interface Errors {
  groups: ErrorGroups | undefined
  /** How many jobs match the filter. */
  matching: Count
  error: ApiError | undefined
  reload(): void
}

/** The groups of errors of a set. */
function useErrors(set: SetName, filter: Filter): Errors {
  const { hasErrors } = KINDS[set]
  // The groups are those of all jobs, so that the chosen group stays among the others.
  const { error, cause, ...beside } = filter
  const groups = useKept(useData<ErrorGroups>(hasErrors ? `/${set}/errors` : null, beside))
  const isCounted = isFiltered(filter) && ((error ?? cause) !== undefined || !hasErrors)
  const counted = useData<ErrorGroups>(isCounted ? `/${set}/errors` : null, filter, { live: false })
  const matching = isCounted ? counted.data : groups.data
  return {
    groups: groups.data,
    matching: { count: matching?.matching ?? null, isExact: matching?.complete ?? false },
    error: groups.error ?? counted.error,
    reload: () => {
      void groups.reload()
      void counted.reload()
    },
  }
}

/** Keeps the last content until the next has loaded, so that nothing jumps. */
function useKept<Answer>(now: Data<Answer>): Data<Answer> {
  const last = useRef<Answer>(undefined)
  useEffect(() => {
    if (now.data) last.current = now.data
  }, [now.data])
  return now.error ? now : { ...now, data: now.data ?? last.current }
}

const MANY = 10

/** Returns the error that many of the jobs share; null without one. */
function causeOf(groups: ErrorGroups | undefined): { count: number; since: string } | null {
  const [most] = groups?.items ?? []
  return most?.since && most.count >= MANY ? { count: most.count, since: most.since } : null
}

function Tools({ set, isGrouped, groups }: { set: SetName; isGrouped: boolean; groups: ErrorGroups | undefined }) {
  const [, change] = useQuery()
  const queues = useQueueNames()
  const { hasErrors } = KINDS[set]
  const classes = [...new Set(groups?.items.flatMap(({ jobs }) => jobs))]
  return (
    <div class="tools first">
      <Search label={t(`sets.search.${set}`)} placeholder={t('sets.search.hint')} />
      {hasErrors && <Chip name="error" label={t('sets.filter.error')} />}
      {hasErrors && <Chip name="cause" label={t('sets.filter.cause')} />}
      <Chip name="queue" label={t('sets.filter.queue')} />
      <Chip name="class" label={t('sets.filter.class')} />
      {hasErrors && <AddChip name="error" label={t('sets.filter.error')} />}
      <AddChip name="queue" label={t('sets.filter.queue')} known={queues} />
      <AddChip name="class" label={t('sets.filter.class')} known={classes} />
      <span class="grow" />
      <MoreFilters state={KINDS[set].state} />
      {hasErrors && (
        <button
          type="button"
          class="btn"
          aria-pressed={isGrouped}
          onClick={() => change({ groups: isGrouped ? 'off' : null }, { replace: true })}
        >
          <Icon name="group" />
          {t('sets.byError')}
        </button>
      )}
    </div>
  )
}

/** "1–50 of 3,902"; for a search, the number of scanned jobs. */
function Shown({ shown, scanned, size }: { shown: number; scanned: number; size: number | undefined }) {
  const [query] = useQuery()
  if (shown === 0) return null
  if (size === undefined) return <>{t('sets.shown.search', { n: shown, scanned })}</>
  const before = query.back === undefined ? 0 : query.back.split('\n').length * LIMIT
  return <>{t('sets.shown', { from: before + 1, to: before + shown, n: Math.max(size, before + shown) })}</>
}
