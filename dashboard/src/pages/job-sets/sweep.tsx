/**
 * An action on all matching jobs of a set: its progress, and a button to stop it. It continues when the user changes
 * the page.
 */

import { signal } from '@preact/signals'
import { ApiError, ask, streamAction } from '../../api/client.ts'
import type { ErrorGroups, Sweeping } from '../../api/types.ts'
import { confirm } from '../../components/confirm.tsx'
import { StatusBar } from '../../components/status.tsx'
import { reportOutcome, showToast } from '../../components/toast.tsx'
import { number } from '../../format/number.ts'
import { t } from '../../i18n/index.ts'
import { refresh } from '../../live/live-stats.ts'
import { toastOf } from './actions.ts'
import { type Filter, filterText, isFiltered } from './filter.ts'
import { messagesOf } from './groups.tsx'
import type { ActionName, SetName } from './kinds.ts'

export type SweepName = Exclude<ActionName, 'reschedule'>

interface Running {
  list: string
  name: SweepName
  /** The number of jobs at the start; null when it is unknown. */
  total: number | null
  now: Pick<Sweeping, 'done' | 'refused'>
  stop(): void
}

const running = signal<Running | null>(null)

/** The number of matching jobs: exact, or a lower bound; null until it is known. */
export interface Count {
  count: number | null
  isExact: boolean
}

/** All jobs that an action applies to. */
export interface Meant extends Count {
  /** The list that shows the progress. */
  list: string
  /** The path of the action in the API, without its name. */
  path: string
  body: object
  /** Describes the filter for people; empty without one. */
  said: string
  /** The question of a deletion, given their number. */
  deletion(n: number): string
  /** The jobs by state, for the question. */
  parts?: { name: string; count: number }[]
  /** The note "12 different messages" of one group that has several. */
  messages?: string
}

/** Counts the matching jobs of a set for a question that names their number. */
async function meantIn(set: SetName, filter: Filter): Promise<Meant> {
  const { items, matching, complete } = await ask<ErrorGroups>(`/${set}/errors`, filter)
  // For very many jobs the live figure, at most two seconds old, is precise enough.
  const isKnown = set !== 'finished' && !complete && !isFiltered(filter)
  const [group] = items
  return {
    ...{ list: set, path: `/${set}/all`, body: filter, said: filterText(filter) },
    ...{ count: isKnown ? (await refresh()).stats[set] : matching, isExact: complete || isKnown },
    deletion: (n) => t(`sets.delete.${set}`, { n }),
    ...(filter.cause !== undefined && group && group.messages > 1 ? { messages: messagesOf(group) } : {}),
  }
}

/** Acts on all matching jobs of a set. Returns true when the action was started and has ended or was stopped. */
export function sweep(name: SweepName, { set, filter }: { set: SetName; filter: Filter }): Promise<boolean> {
  return sweepAll(name, () => meantIn(set, filter))
}

/** Asks, and acts on all that are meant. Returns true when the action was started and has ended or was stopped. */
export async function sweepAll(name: SweepName, count: () => Promise<Meant>): Promise<boolean> {
  if (running.value !== null) {
    showToast({ text: t('sets.sweep.busy'), isRefusal: true })
    return false
  }
  const all = await reportOutcome(count())
  if (!all || !(await isMeant(name, all))) return false
  await reportOutcome(run(name, all))
  return true
}

async function run(name: SweepName, { list, path, body, count, isExact }: Meant): Promise<void> {
  const stop = new AbortController()
  let last: Sweeping = { done: 0, refused: 0, ended: false }
  running.value = { list, name, total: isExact ? count : null, now: last, stop: () => stop.abort() }
  try {
    for await (const line of streamAction<Sweeping>(`${path}/${name}`, body, stop.signal)) {
      last = line
      if (running.value) running.value = { ...running.value, now: line }
    }
  } catch (thrown) {
    // A refused request has a code. A connection that breaks off has none, and neither has an answer that is stopped.
    if (thrown instanceof ApiError) throw thrown
  } finally {
    running.value = null
  }
  if (last.ended) showToast(await toastOf(name, last))
  else if (stop.signal.aborted) showToast(t('sets.sweep.stopped', { n: last.done }))
  else throw new Error(t('sets.sweep.cut', { n: last.done }))
}

function isMeant(name: SweepName, { count, isExact, said, parts, messages, deletion }: Meant): Promise<boolean> {
  const what =
    count === null
      ? t(`sets.${name}.matching`)
      : name === 'delete'
        ? deletion(count)
        : t(`sets.${name}.all`, { n: count })
  const isRisky = name === 'delete' || name === 'kill' || name === 'cancel'
  return confirm({
    title: t('sets.ask', { what }),
    body: (
      <>
        {said !== '' && (
          <>
            {t('sets.which')} <bdi class="b">{said}</bdi>.{' '}
            {messages !== undefined && `${t('sets.holds', { messages })} `}
          </>
        )}
        {count !== null && !isExact && `${t('sets.atLeast', { n: count })} `}
        {t(`sets.${name}.what`)}
      </>
    ),
    ...(parts ? { parts } : {}),
    act: what,
    keep: t('confirm.keep', { n: count ?? 0 }),
    isDangerous: isRisky,
    count: isRisky ? (count ?? 0) : 0,
  })
}

export function SweepPanel({ list }: { list: string }) {
  const { value: now } = running
  if (now?.list !== list) return null
  const { done, refused } = now.now
  const rest = now.total === null ? 0 : Math.max(now.total - done - refused, 0)
  return (
    <section class="panel sweep" aria-label={t(`sets.doing.${now.name}`)}>
      <div class="row">
        <b class="b">{t(`sets.doing.${now.name}`)}</b>
        <span class="grow dim hide-s">{t('sets.sweep.stay')}</span>
        <span class="dim nowrap" role="status">
          {now.total === null
            ? t('sets.sweep.done', { n: done })
            : t('sets.sweep.doneOf', { n: done, all: number(now.total) })}
        </span>
        <button type="button" class="btn s" onClick={now.stop}>
          {t('sets.sweep.stop')}
        </button>
      </div>
      {now.total !== null && <StatusBar counts={{ finished: done, failed: refused, enqueued: rest }} />}
    </section>
  )
}
