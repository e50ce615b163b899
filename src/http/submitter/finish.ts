/** What a submitter does: takes the rows to correct, gives them back, or stops what waits. */

import type { FileFormat } from '../../tasks/sheet/format.ts'
import { isOver, type TaskStatus } from '../../tasks/task.ts'
import type { Reader } from '../reader.ts'
import { escaped, fresh, phrase } from './html.ts'
import { icon } from './symbols.ts'

export interface Acting {
  /** The file goes as the rows came. */
  format: FileFormat
  token: string | null
  /** Nothing can be changed here. */
  readOnly: boolean
}

/** What came of a file that was sent stands below, for the section goes when nothing is left to correct. */
export function finishSection(reader: Reader, task: TaskStatus, { format, token, readOnly }: Acting): string {
  const { id, counts } = task
  const rejected = counts.failed + counts.error + counts.cancelled
  const report = `../api/v1/tasks/${id}/report?format=${format}${token === null ? '' : `&token=${encodeURIComponent(token)}`}&lang=${reader.language}`
  const step = (word: Parameters<typeof phrase>[1], kind = '') => `<li${kind}>${phrase(reader, word)}</li>`
  const sending = readOnly
    ? ''
    : `<label class="btn scripted" data-part="send">${icon('upload')}<span data-part="send-text">${phrase(reader, 'send')}</span><input type="file" data-part="file" accept=".csv,.xlsx,.xlsm,.ndjson,.jsonl,.txt"></label>`
  return `<section class="card" ${fresh('finish', counts.failed + counts.cancelled === 0, 'shell')}><div class="in"><h2>${phrase(reader, 'finish')}</h2>
<ol class="steps">${step('finish.download')}${step('finish.correct')}${readOnly ? '' : step('finish.send', ' class="scripted"')}</ol>
<div class="duo"><a class="btn primary" href="${escaped(report)}" download>${icon('download')}<span ${fresh('download')}>${phrase(reader, 'download', { n: rejected })}</span></a>
${sending}</div>
<p class="dim small gap" ${fresh('ours', counts.error === 0)}>${phrase(reader, 'finish.ours', { n: counts.error })}</p>
<p class="dim small gap" ${fresh('more', isOver(task), 'shell')}>${phrase(reader, 'finish.more')}</p>
</div></section>
<p class="card news" role="status" data-part="sent-news" hidden></p>`
}

/** Asked before it is done, and what it does is named. */
export function stopSection(reader: Reader, task: TaskStatus): string {
  const n = task.counts.enqueued
  const isEnding = isOver(task) || task.state === 'cancelling'
  return `<div class="stop scripted"><div ${fresh('stop', isEnding, 'shell')}><button class="btn ghost" type="button" data-part="ask">${phrase(reader, 'stop')}</button></div></div>
<dialog class="card" data-part="dialog" aria-labelledby="ask-title"><h2 id="ask-title" ${fresh('ask-title')}>${n > 0 ? phrase(reader, 'stop.rows', { n }) : phrase(reader, 'stop.any')}</h2>
<p class="muted">${phrase(reader, 'stop.what')}</p>
<div class="duo"><button class="btn danger" type="button" ${fresh('yes')}>${n > 0 ? phrase(reader, 'stop.yesRows', { n }) : phrase(reader, 'stop.yes')}</button><button class="btn" type="button" data-part="no" autofocus>${phrase(reader, 'stop.no')}</button></div>
</dialog>`
}
