/** One job of a set beside the list: all about it, what can be done, and the way to its neighbours. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobDetail } from '../../api/types.ts'
import { at, encoded } from '../../base.ts'
import { Drawer } from '../../components/drawer.tsx'
import { Empty, ErrorNote, Skeleton } from '../../components/notice.tsx'
import { t } from '../../i18n/index.ts'
import { about } from '../../live/live-stats.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { JobAbout, JobDetailView, JobPill } from '../job/detail.tsx'
import { visible } from '../job/json.tsx'
import { ActButtons } from './action-buttons.tsx'
import { act } from './actions.ts'
import { KINDS, type SetName } from './kinds.ts'
import type { Row } from './rows.tsx'

interface JobDrawerProps {
  set: SetName
  /** The row's. */
  id: string
  rows: readonly Row[]
  /** After something was done. */
  onDone(): void
}

export function JobDrawer({ set, id, rows, onDone }: JobDrawerProps) {
  const [, change] = useQuery()
  const row = rows.find((one) => one.id === id)
  const position = usePosition(rows, id)
  const summary = useLast(row?.job, id)
  const jid = summary?.jid ?? id.replace(/#\d+$/, '')
  const path = `/${set}/${encoded(jid === '' ? '-' : jid)}`
  // Which time it has is in its key: one that was given another is looked for by its jid alone.
  const [moved, setMoved] = useState<string>()
  const [gone, setGone] = useState<string>()
  const [isActing, setActing] = useState(false)
  const {
    data: job,
    error,
    reload,
  } = useData<JobDetail>(path, summary && moved !== path ? { key: summary.key } : {}, {
    live: gone !== path && !isActing,
  })
  const isUnknown = error?.code === 'UNKNOWN_JID'
  const isGone = isUnknown && moved === path
  useEffect(() => {
    if (isUnknown) setMoved(path)
    // What has gone does not come back.
    setGone(isGone ? path : undefined)
  }, [isUnknown, isGone, path])
  const { state } = KINDS[set]
  const go = (to: Row | undefined) => (to ? () => change({ job: to.id }, { replace: true }) : undefined)
  const previous = go(rows[position - 1])
  // When the job has left the list, the next one is where it was.
  const next = go(rows[row ? position + 1 : position])
  const close = () => change({ job: null })
  return (
    <Drawer
      label={t('job.label', { jid })}
      title={
        <>
          <h2 class="drawer-title cut">
            <bdi>{visible(job?.class ?? summary?.class ?? t('job.title'))}</bdi>
          </h2>
          {job && <JobPill job={job} state={state} />}
        </>
      }
      about={job && <JobAbout job={job} state={state} />}
      onClose={close}
      onPrevious={previous}
      onNext={next}
      acts={
        job &&
        !isGone &&
        !about.value?.readOnly && (
          <ActButtons
            acts={KINDS[set].acts}
            isFoot
            onAct={async (name) => {
              setActing(true)
              const isDone = await act(set, name, [job], onDone)
              setActing(false)
              if (!isDone) return
              if (name === 'reschedule') setMoved(path)
              else (next ?? previous ?? close)()
              onDone()
            }}
          />
        )
      }
    >
      {isGone && (
        <Empty
          icon="search"
          title={t('sets.gone')}
          acts={
            <a class="btn" href={at(`/jobs/${encoded(jid)}`)}>
              {t('sets.gone.look')}
            </a>
          }
        >
          {t('sets.gone.what')}
        </Empty>
      )}
      {error && !isUnknown && <ErrorNote error={error} onRetry={reload} />}
      {job && !isGone && <JobDetailView key={`${jid} ${job.at}`} job={job} state={state} path={path} />}
      {!job && !error && <Skeleton />}
    </Drawer>
  )
}

/** Where the row is, or was last. */
function usePosition(rows: readonly Row[], id: string): number {
  const last = useRef(-1)
  const i = rows.findIndex((one) => one.id === id)
  if (i !== -1) last.current = i
  return i === -1 ? last.current : i
}

/** The summary as it was first seen at this time: its key may be written in another way when its neighbours change. */
function useLast<Item extends { at: string }>(summary: Item | undefined, id: string): Item | undefined {
  const kept = useRef<{ id: string; summary: Item | undefined }>({ id, summary })
  const { current } = kept
  if (current.id !== id || (summary && current.summary?.at !== summary.at)) kept.current = { id, summary }
  return kept.current.summary
}
