/** The progress section: figures, the bar, the time left, and counts by status. */

import { isOver, type TaskStatus } from '../../tasks/task.ts'
import { escaped } from '../server/html-page.ts'
import type { Viewer } from '../server/viewer.ts'
import { fresh, phrase, readable, shape } from './html.ts'

const BAR = ['finished', 'failed', 'error', 'working', 'enqueued', 'cancelled'] as const
const TALLY = ['finished', 'failed', 'error', 'enqueued', 'cancelled'] as const

export function progressSection(viewer: Viewer, task: TaskStatus): string {
  const { total, counts } = task
  const number = (n: number) => n.toLocaleString(viewer.locale)
  const open = counts.enqueued + counts.working
  const shown = { ...counts, enqueued: open }
  const pieces = BAR.map((status) => {
    const part = fresh(`bar-${status}`, counts[status] === 0, 'shell')
    return `<i class="${status}" ${part} data-n="${counts[status]}"></i>`
  })
  const shownCounts = BAR.filter((status) => counts[status] > 0).map((status) => {
    const name = phrase(viewer, status === 'working' ? 'left.working' : status)
    return `${name}: ${number(counts[status])}`
  })
  const tally = TALLY.map((status) => {
    const part = fresh(`is-${status}`, shown[status] === 0 && status !== 'finished', 'shell')
    return `<li class="${status}" ${part}>${shape(status)}<div>${phrase(viewer, status)}<p>${phrase(viewer, `${status}.what`)}</p></div><span class="n" ${fresh(status)}>${number(shown[status])}</span></li>`
  })
  const why = whyOf(viewer, task)
  return `<section class="card" aria-label="${phrase(viewer, 'progress')}"><div class="in">
<div class="big" ${fresh('done')}>${number(total - open)}</div><div class="of" ${fresh('of')}>${phrase(viewer, 'of', { n: total })}</div>
<div class="bar" role="img" ${fresh('bar', false, 'shell')} aria-label="${shownCounts.join('; ')}">${pieces.join('')}</div>
<p class="muted small" ${fresh('why', why === '')}>${why}</p>
<div class="times"><b class="b" ${fresh('left')}>${leftOf(viewer, task)}</b><span class="muted" ${fresh('percent')}>${total === 0 ? '' : percentOf(viewer, task)}</span></div>
</div>
<ul class="tally">${tally.join('\n')}</ul></section>`
}

/** Returns a whole percentage, and 100% only when nothing is left. */
export function percentOf({ locale }: Viewer, { percent }: TaskStatus): string {
  return (Math.floor(percent) / 100).toLocaleString(locale, { style: 'percent' })
}

/** Says why the task is paused or was cancelled. */
function whyOf(viewer: Viewer, { state, reason }: TaskStatus): string {
  if (state === 'paused' && reason === undefined) return phrase(viewer, 'why.paused')
  if (reason === undefined || state === 'done') return ''
  return phrase(viewer, state === 'paused' ? 'why.pausedFor' : 'why.stopped', {}, { reason: escaped(readable(reason)) })
}

function leftOf(viewer: Viewer, task: TaskStatus): string {
  const { state, counts, etaSeconds } = task
  if (state === 'done' && counts.failed > 0) return phrase(viewer, 'left.correct', { n: counts.failed })
  if (state === 'done') return phrase(viewer, counts.error > 0 ? 'left.ours' : 'left.done')
  if (state === 'interrupted' && isOver(task)) return phrase(viewer, 'left.brokenOff')
  if (state !== 'running') return phrase(viewer, `left.${state}`)
  if (counts.enqueued + counts.working === 0 || etaSeconds === null) return phrase(viewer, 'left.working')
  if (etaSeconds < 60) return phrase(viewer, 'left.soon')
  if (etaSeconds < 5400) return phrase(viewer, 'left.minutes', { n: Math.round(etaSeconds / 60) })
  return phrase(viewer, 'left.hours', { n: Math.round(etaSeconds / 3600) })
}
