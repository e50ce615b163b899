/** All tasks, newest first, and the button for a new import. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { Page, TaskState, TaskStatus } from '../../api/types.ts'
import { at, queryValue } from '../../base.ts'
import { actionColumn } from '../../components/action-column.tsx'
import { Head } from '../../components/head.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { Paging } from '../../components/paging.tsx'
import { AddChip, Chip, FROM_THE_START, Search } from '../../components/search.tsx'
import { StatusBar } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/time.tsx'
import { number, share } from '../../format/number.ts'
import { duration } from '../../format/time.ts'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { FileDrop } from './drop.tsx'
import { ImportDialog } from './import-dialog.tsx'
import { memberFilters, withoutFilters } from './member-chips.tsx'
import { MetaChips } from './meta.tsx'
import { Selected } from './selected.tsx'
import { StatePill } from './state.tsx'
import { ACTION_KEYS, ACTION_TEXTS, actOnTasks, canAct, rejectedCount, type TaskAction } from './task-actions.ts'

const STATES: readonly TaskState[] = ['adding', 'running', 'paused', 'interrupted', 'cancelling', 'done', 'cancelled']

export default function Tasks() {
  const [query, change] = useQuery()
  const { route } = useLocation()
  const { state, job, search, cursor } = query
  const meta = memberFilters(query, 'meta')
  const listQuery = { state, job, search, ...meta, cursor, limit: 25 }
  const { data, error, reload } = useData<Page<TaskStatus>>('/tasks', listQuery)
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set())
  const [file, setFile] = useState<File | null | undefined>(undefined)
  const canChange = about.value?.readOnly === false
  const jobs = about.value?.jobs.map(({ name }) => name) ?? []
  const canImport = canChange && jobs.length > 0
  const isFiltered = [state, job, search, ...Object.keys(meta)].some((one) => one !== undefined)
  const clear = () => change({ state: null, job: null, search: null, ...withoutFilters(meta), ...FROM_THE_START })
  const selected = data?.items.filter(({ id }) => chosen.has(id)) ?? []
  const act = async (name: TaskAction, tasks: readonly TaskStatus[]) => {
    if (await actOnTasks(name, tasks)) choose(new Set())
    await reload()
  }
  const open = (task: TaskStatus) => route(at(`/tasks/${task.id}`))
  return (
    <main class="main" id="main" tabIndex={-1}>
      <Head title={t('nav.tasks')} facts={[t('tasks.what'), canChange && jobs.length === 0 && t('tasks.noJobs')]}>
        {canImport && (
          <button type="button" class="btn primary" onClick={() => setFile(null)}>
            <Icon name="upload" />
            {t('tasks.import')}
          </button>
        )}
      </Head>
      <FileDrop isOff={!canImport} hint={t('tasks.dropNow')} onFile={setFile}>
        <section class="panel list">
          <div class="tools">
            <Search label={t('tasks.search')} placeholder={t('tasks.search')} />
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
                    {t(`tasks.state.${one}`)}
                  </option>
                ))}
              </select>
            </label>
            <Chip name="job" label={t('tasks.job')} />
            <AddChip name="job" label={t('tasks.job')} known={jobs} />
            <MetaChips />
          </div>
          {error && <ErrorNote error={error} onRetry={reload} />}
          {!data && !error && <Skeleton />}
          {data?.items.length === 0 &&
            (isFiltered ? <NoneMatches isAll={data.next === null} onClear={clear} /> : <None canImport={canImport} />)}
          {canChange && selected.length > 0 && (
            <Selected tasks={selected} onNone={() => choose(new Set())} onAct={(name) => void act(name, selected)} />
          )}
          {data && data.items.length > 0 && (
            <Table
              label={t('nav.tasks')}
              rows={data.items}
              columns={columns((name, task) => void act(name, [task]))}
              keyOf={({ id }) => id}
              nameOf={({ name }) => name}
              {...(canChange ? { chosen, onChoose: choose } : {})}
              onOpen={open}
            />
          )}
          {data && <Paging next={data.next} />}
        </section>
      </FileDrop>
      {file !== undefined && <ImportDialog file={file} onClose={() => setFile(undefined)} />}
    </main>
  )
}

function columns(onAct: (act: TaskAction, task: TaskStatus) => void): Column<TaskStatus>[] {
  return [
    {
      name: 'name',
      title: t('tasks.name'),
      class: 'max',
      cell: (task) => (
        <>
          <a class="cut block" href={at(`/tasks/${task.id}`)}>
            <bdi>{task.name}</bdi>
          </a>
          <span class="sub cut">
            <a href={at(`/tasks?job=${queryValue(task.job)}`)}>
              <bdi>{task.job}</bdi>
            </a>{' '}
            {task.state === 'running' && task.etaSeconds !== null && `· ${leftOf(task.etaSeconds)}`}
          </span>
          <span class="sub only-s">{t(`tasks.state.${task.state}`)}</span>
        </>
      ),
    },
    {
      name: 'state',
      title: t('tasks.state'),
      class: 'nowrap hide-s',
      cell: ({ state }) => <StatePill state={state} />,
    },
    {
      name: 'progress',
      title: t('tasks.progress'),
      class: 'bar-cell',
      cell: (task) => <StatusBar counts={task.counts} />,
    },
    { name: 'percent', title: t('tasks.ended'), class: 'num b', cell: (task) => share(Math.floor(task.percent), 100) },
    { name: 'total', title: t('tasks.rows'), class: 'num hide-s', cell: (task) => number(task.total) },
    {
      name: 'rejected',
      title: t('tasks.rejected'),
      class: 'num hide-s',
      cell: (task) => number(rejectedCount(task)),
    },
    { name: 'made', title: t('tasks.made'), class: 'num hide-m dim', cell: (task) => <When at={task.createdAt} /> },
    ...actionColumn((task: TaskStatus) => <RowActions task={task} onAct={onAct} />, 'num hide-s'),
  ]
}

const leftOf = (seconds: number) => t('tasks.left', { time: duration(seconds) })

const ROW_ACTIONS = { pause: 'pause', resume: 'play', retry: 'retries' } as const

function RowActions({ task, onAct }: { task: TaskStatus; onAct(act: TaskAction, task: TaskStatus): void }) {
  return (
    <span class="actions">
      {(['pause', 'resume', 'retry'] as const).map(
        (act) =>
          canAct(act, task) && (
            <button
              type="button"
              key={act}
              class="btn ghost s sq"
              data-row-key={ACTION_KEYS[act]}
              title={t(ACTION_TEXTS[act])}
              aria-label={`${t(ACTION_TEXTS[act])}: ${task.name}`}
              onClick={() => onAct(act, task)}
            >
              <Icon name={ROW_ACTIONS[act]} />
            </button>
          ),
      )}
    </span>
  )
}

function None({ canImport }: { canImport: boolean }) {
  return (
    <Empty icon="tasks" title={t('overview.tasks.none')}>
      {t(canImport ? 'tasks.dropHere' : 'overview.tasks.noneWhat')}
      <br />
      <code>highkiq import products.csv --job ImportProduct</code>
    </Empty>
  )
}

/** @param isAll whether all tasks were searched */
function NoneMatches({ isAll, onClear }: { isAll: boolean; onClear(): void }) {
  return (
    <Empty
      icon="search"
      title={t('nothingMatches')}
      actions={
        <button type="button" class="btn" onClick={onClear}>
          {t('clearFilters')}
        </button>
      }
    >
      {t(isAll ? 'tasks.noneMatches' : 'tasks.noneYet')}
    </Empty>
  )
}
