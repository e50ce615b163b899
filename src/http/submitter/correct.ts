/** The section about rows to correct: reasons, counts and sample rows. */

import type { TaskEvent } from '../../tasks/event.ts'
import { isOver, type TaskStatus } from '../../tasks/task.ts'
import { escaped } from '../server/html-page.ts'
import type { Viewer } from '../server/viewer.ts'
import { data, fresh, phrase } from './html.ts'
import type { Group } from './reasons.ts'

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
