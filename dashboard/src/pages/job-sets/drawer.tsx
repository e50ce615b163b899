/** One job of a set beside the list. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { JobDetail, JobSetEntry } from '../../api/types.ts'
import { encoded } from '../../base.ts'
import { useData } from '../../live/use-data.ts'
import { useQuery } from '../../live/use-query.ts'
import { JobDrawer } from '../job/drawer.tsx'
import { ActionButtons } from './action-buttons.tsx'
import { act } from './actions.ts'
import { type ActionName, KINDS, type SetName } from './kinds.ts'
import { jidOf, type Row } from './row.ts'

interface SetDrawerProps {
  set: SetName
  /** The id of the row. */
  id: string
  rows: readonly Row<Pick<JobSetEntry, 'jid' | 'key' | 'class'> & { at: string | null }>[]
  /** Called after each action. */
  onDone(): void
}

export function SetDrawer({ set, id, rows, onDone }: SetDrawerProps) {
  const [, change] = useQuery()
  const row = rows.find((one) => one.id === id)
  const position = usePosition(rows, id)
  const summary = useLast(row?.job, id)
  const jid = summary?.jid ?? jidOf(id)
  const path = `/${set}/${encoded(jid === '' ? '-' : jid)}`
  // The key contains the time of the job, so a rescheduled job is found by its jid alone.
  const [moved, setMoved] = useState<string>()
  const [gone, setGone] = useState<string>()
  const [isActing, setActing] = useState(false)
  const found = useData<JobDetail>(path, summary && moved !== path ? { key: summary.key } : {}, {
    live: gone !== path && !isActing,
  })
  const isUnknown = found.error?.code === 'UNKNOWN_JID'
  const isGone = isUnknown && moved === path
  useEffect(() => {
    if (isUnknown) setMoved(path)
    // A job that left the set is not requested again.
    setGone(isGone ? path : undefined)
  }, [isUnknown, isGone, path])
  const go = (to: { id: string } | undefined) => (to ? () => change({ job: to.id }, { replace: true }) : undefined)
  const previous = go(rows[position - 1])
  // When the job has left the list, the next row has moved to its position.
  const next = go(rows[row ? position + 1 : position])
  const close = () => change({ job: null })
  const run = async (name: ActionName, job: JobDetail) => {
    setActing(true)
    const isDone = await act(set, name, [job], onDone)
    setActing(false)
    if (!isDone) return
    if (name === 'reschedule') setMoved(path)
    else (next ?? previous ?? close)()
    onDone()
  }
  return (
    <JobDrawer
      {...{ jid, path, found, isGone }}
      id={`${jid} ${found.data?.at}`}
      listed={summary?.class}
      state={KINDS[set].state}
      hasPill
      onClose={close}
      onPrevious={previous}
      onNext={next}
      actions={(job) => <ActionButtons actions={KINDS[set].actions} isFoot onAct={(name) => run(name, job)} />}
    />
  )
}

/** Returns the position of the row in the list; the last known one when the row has left it. */
function usePosition(rows: readonly { id: string }[], id: string): number {
  const last = useRef(-1)
  const i = rows.findIndex((one) => one.id === id)
  if (i !== -1) last.current = i
  return i === -1 ? last.current : i
}

/** Returns the summary as first seen with this time: a change of its neighbours may change the form of its key. */
function useLast<Item extends { at: string | null }>(summary: Item | undefined, id: string): Item | undefined {
  const kept = useRef<{ id: string; summary: Item | undefined }>({ id, summary })
  const { current } = kept
  if (current.id !== id || (summary && current.summary?.at !== summary.at)) kept.current = { id, summary }
  return kept.current.summary
}
