/** The sections of the page: progress, rows to correct, sending them back, and cancelling. */

import type { TaskEvent } from '../../tasks/event.ts'
import { messageText } from '../../tasks/messages.ts'
import type { FileFormat } from '../../tasks/spreadsheet/format.ts'
import { isOver, type TaskStatus } from '../../tasks/task.ts'
import { escaped } from '../server/html-page.ts'
import type { Viewer } from '../server/viewer.ts'
import { data, fresh, icon, phrase, readable, shape } from './html.ts'
import type { Group } from './reasons.ts'

// Progress -----------------------------------------------------------------------------------------------------

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
function whyOf(viewer: Viewer, { state, cause }: TaskStatus): string {
  if (state === 'paused' && cause === undefined) return phrase(viewer, 'why.paused')
  if (cause === undefined || state === 'done') return ''
  const reason = messageText(cause, viewer.language)
  return phrase(viewer, state === 'paused' ? 'why.pausedFor' : 'why.stopped', {}, { reason: escaped(readable(reason)) })
}

/** Says how far a task is. */
export function leftOf(viewer: Viewer, task: TaskStatus): string {
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

// Rows to correct ----------------------------------------------------------------------------------------------

/** The most further texts of the same code. */
const OTHERS = 2
/** The most cells of a sample row, and characters of each. */
const CELLS = 4
const CELL = 40

export function correctSection(viewer: Viewer, task: TaskStatus, groups: readonly Group[]): string {
  const { failed } = task.counts
  const most = Math.max(...groups.map(({ count }) => count))
  const rows = phrase(viewer, isOver(task) ? 'fix.rows' : 'fix.soFar', { n: failed })
  return `<section class="card" ${fresh('fix', failed === 0, 'shell')}><div class="in fix-h"><h2>${phrase(viewer, 'fix')}</h2><p class="muted small" ${fresh('reasons-of')}>${rows}</p></div>
<ul class="fix" ${fresh('reasons')}>${groups.map((group) => groupItem(viewer, group, most)).join('\n')}</ul></section>`
}

function groupItem(viewer: Viewer, { texts, count, samples }: Group, most: number): string {
  const [first, ...others] = texts.map((text) => (text === null ? phrase(viewer, 'reason.none') : data(text)))
  const title = first ?? phrase(viewer, 'reason.others')
  const also = others.slice(0, OTHERS).map((text) => `“${text}”`)
  const lines = [
    samples.length > 0 ? whichRows(viewer, samples, count) : '',
    also.length > 0 ? phrase(viewer, 'reason.also', {}, { texts: also.join(', ') }) : '',
  ].filter(Boolean)
  const [sample] = samples
  return `<li><div class="t"><b>${title}</b><span class="n">${count.toLocaleString(viewer.locale)}</span></div><span class="meter" data-v="${(count / most) * 100}"><i></i></span>${lines.length > 0 ? `<p>${lines.join(' ')}</p>` : ''}${sample ? example(viewer, sample) : ''}</li>`
}

const numberOf = ({ number, index }: TaskEvent) => number ?? index + 1

function whichRows(viewer: Viewer, samples: readonly TaskEvent[], count: number): string {
  const rows = samples.map((event) => numberOf(event).toLocaleString(viewer.locale)).join(', ')
  const rest = count - samples.length
  return rest > 0
    ? phrase(viewer, 'reason.more', { n: rest }, { rows })
    : phrase(viewer, 'reason.rows', { n: count }, { rows })
}

/** Shows the first cells of a row; nothing when its arguments are not kept. */
function example(viewer: Viewer, event: TaskEvent): string {
  const cells = cellsOf(event.args)
  if (cells.length === 0) return ''
  const shown = cells.map(([name, value]) => {
    const text = textOf(value)
    const cell = text === '' ? `<i>${phrase(viewer, 'empty')}</i>` : `<b>${data(text, CELL)}</b>`
    return name === undefined ? cell : `${data(name, CELL)} ${cell}`
  })
  const row = phrase(viewer, 'reason.example', {}, { row: escaped(numberOf(event).toLocaleString(viewer.locale)) })
  return `<p class="example">${row} ${shown.join(' · ')}</p>`
}

function cellsOf(args: unknown[] | null): [name: string | undefined, value: unknown][] {
  if (args === null) return []
  const [first] = args
  const isRow = args.length === 1 && typeof first === 'object' && first !== null && !Array.isArray(first)
  const cells: [string | undefined, unknown][] = isRow
    ? Object.entries(first as object)
    : args.map((value) => [undefined, value])
  return cells.slice(0, CELLS)
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

// Finishing and cancelling -------------------------------------------------------------------------------------

export interface SubmitterActions {
  /** The format of the report, the same as of the imported file. */
  format: FileFormat
  token: string | null
  /** True when the page offers no changes. */
  readOnly: boolean
}

/** The result of an upload is shown below the section, which disappears when nothing is left to correct. */
export function finishSection(viewer: Viewer, task: TaskStatus, { format, token, readOnly }: SubmitterActions): string {
  const { id, counts } = task
  const rejected = counts.failed + counts.error + counts.cancelled
  const report = `../api/v1/tasks/${id}/report?format=${format}${token === null ? '' : `&token=${encodeURIComponent(token)}`}&lang=${viewer.language}`
  const step = (word: Parameters<typeof phrase>[1], kind = '') => `<li${kind}>${phrase(viewer, word)}</li>`
  const sending = readOnly
    ? ''
    : `<label class="btn scripted" data-part="send">${icon('upload')}<span data-part="send-text">${phrase(viewer, 'send')}</span><input type="file" data-part="file" accept=".csv,.xlsx,.xlsm,.ndjson,.jsonl,.txt"></label>`
  return `<section class="card" ${fresh('finish', counts.failed + counts.cancelled === 0, 'shell')}><div class="in"><h2>${phrase(viewer, 'finish')}</h2>
<ol class="steps">${step('finish.download')}${step('finish.correct')}${readOnly ? '' : step('finish.send', ' class="scripted"')}</ol>
<div class="duo"><a class="btn primary" href="${escaped(report)}" download>${icon('download')}<span ${fresh('download')}>${phrase(viewer, 'download', { n: rejected })}</span></a>
${sending}</div>
<p class="dim small gap" ${fresh('ours', counts.error === 0)}>${phrase(viewer, 'finish.ours', { n: counts.error })}</p>
<p class="dim small gap" ${fresh('more', isOver(task), 'shell')}>${phrase(viewer, 'finish.more')}</p>
</div></section>
<p class="card news" role="status" data-part="sent-news" hidden></p>`
}

/** The dialog asks for confirmation and names what happens. */
export function stopSection(viewer: Viewer, task: TaskStatus): string {
  const n = task.counts.enqueued
  const isEnding = isOver(task) || task.state === 'cancelling'
  return `<div class="stop scripted"><div ${fresh('stop', isEnding, 'shell')}><button class="btn ghost" type="button" data-part="ask">${phrase(viewer, 'stop')}</button></div></div>
<dialog class="card" data-part="dialog" aria-labelledby="ask-title"><h2 id="ask-title" ${fresh('ask-title')}>${n > 0 ? phrase(viewer, 'stop.rows', { n }) : phrase(viewer, 'stop.any')}</h2>
<p class="muted">${phrase(viewer, 'stop.what')}</p>
<div class="duo"><button class="btn danger" type="button" ${fresh('yes')}>${n > 0 ? phrase(viewer, 'stop.yesRows', { n }) : phrase(viewer, 'stop.yes')}</button><button class="btn" type="button" data-part="no" autofocus>${phrase(viewer, 'stop.no')}</button></div>
</dialog>`
}
