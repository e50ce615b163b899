/** The sections in which a submitter downloads the rows to correct, sends them back, or cancels the task. */

import type { FileFormat } from '../../tasks/spreadsheet/format.ts'
import { isOver, type TaskStatus } from '../../tasks/task.ts'
import { escaped } from '../server/html-page.ts'
import type { Viewer } from '../server/viewer.ts'
import { fresh, icon, phrase } from './html.ts'

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
