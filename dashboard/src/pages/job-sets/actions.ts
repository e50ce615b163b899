/** Runs actions on jobs of a set: asks first if needed, and reports the outcome. */

import { apiErrorOf, sendRequest } from '../../api/client.ts'
import type { Acted, JobSetEntry } from '../../api/types.ts'
import { confirm } from '../../components/confirm.tsx'
import { reportOutcome, showToast, type ToastText } from '../../components/toast.tsx'
import { refusalText } from '../../format/refusal.ts'
import { t } from '../../i18n/index.ts'
import { askWhen, type Later } from '../job/later.tsx'
import type { ActionName, SetName } from './kinds.ts'

/** The members of a job that actions need. */
export type Target = Pick<JobSetEntry, 'jid' | 'key' | 'class' | 'queue'>

/** Returns true when the action was confirmed and sent. `undone` is called when the user undoes it. */
export async function act(
  set: SetName,
  name: ActionName,
  jobs: readonly Target[],
  undone: () => unknown,
): Promise<boolean> {
  const n = jobs.length
  if (name === 'delete' && !(await isMeant(set, jobs))) return false
  const later = name === 'reschedule' ? await askWhen(t('later.title', { n })) : {}
  if (!later) return false
  const acted = await reportOutcome(requestOf(set, name, jobs, later))
  if (!acted) return false
  const { moved } = acted
  const undo = moved && (() => void putBack(set, moved).then(undone))
  if (acted.done > 0) showToast(await toastOf(name, acted), undo)
  else showToast({ text: t('sets.refused', { n: acted.refused, why: await whyOf(acted) }), isRefusal: true })
  return true
}

function requestOf(set: SetName, name: ActionName, jobs: readonly Target[], later: Later | object): Promise<Acted> {
  return sendRequest<Acted>('POST', `/${set}/${name}`, { jobs: jobs.map(({ jid, key }) => ({ jid, key })), ...later })
}

function isMeant(set: SetName, jobs: readonly Target[]): Promise<boolean> {
  const what = t(`sets.delete.${set}`, { n: jobs.length })
  return confirm({
    title: t('sets.ask', { what }),
    body: t('sets.delete.what'),
    parts: partsOf(jobs),
    act: what,
    count: jobs.length,
  })
}

const MOST_PARTS = 8

/** Counts the jobs by class and queue. */
export function partsOf(jobs: readonly Target[]): { name: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const { class: name, queue } of jobs) {
    const part = t('sets.part', { class: name, queue })
    counts.set(part, (counts.get(part) ?? 0) + 1)
  }
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, MOST_PARTS)
}

/** Returns why the first job was refused. */
export async function whyOf({ error = '', problem, code, details = {} }: Omit<Acted, 'moved'>): Promise<string> {
  if (problem) return t(`sets.why.${problem}`)
  return code === undefined ? error : refusalText(await apiErrorOf({ code, message: error, details }))
}

export async function toastOf(name: ActionName, acted: Omit<Acted, 'moved'>): Promise<ToastText> {
  const { done, refused, error } = acted
  const text = t(`sets.done.${name}`, { n: done })
  if (refused === 0 && error === undefined) return { text }
  const why = await whyOf(acted)
  // An action on all that match may fail before it comes to the others.
  const rest = refused === 0 ? t('toast.failed', { why }) : t('sets.refused', { n: refused, why })
  return { text: `${text} ${rest}`, isRefusal: true }
}

/** Moves jobs back to their earlier times. Jobs that have run or moved in the meantime stay where they are. */
async function putBack(set: SetName, moved: Required<Acted>['moved']): Promise<void> {
  const back = moved.map(({ jid, key, was }) =>
    sendRequest<Acted>('POST', `/${set}/reschedule`, { jobs: [{ jid, key }], at: was }),
  )
  await reportOutcome(Promise.all(back), async (all) => {
    const done = all.reduce((sum, one) => sum + one.done, 0)
    const refused = all.find(({ error }) => error)
    const why = refused && (await whyOf(refused))
    const texts = done > 0 || !why ? [t('sets.undone', { n: done })] : []
    const text = [...texts, ...(why ? [t('sets.refused', { n: all.length - done, why })] : [])].join(' ')
    return { text, isRefusal: why !== undefined }
  })
}
