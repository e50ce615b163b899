/**
 * The page of the person who submitted a task. The server renders all of it, so that it works without scripts. The
 * script of the page copies changed parts from newer pages.
 */

import { metaOf } from '../../tasks/meta.ts'
import type { FileFormat } from '../../tasks/spreadsheet/format.ts'
import { isOver, type TaskStatus } from '../../tasks/task.ts'
import { statusWithoutMeta } from '../routes/tasks/queries.ts'
import { escaped, htmlPage, LOGO, pageAnswer } from '../server/html-page.ts'
import type { Call } from '../server/route.ts'
import { scriptPhrases, type Viewer, viewerOf } from '../server/viewer.ts'
import { data, fresh, icon, languages, phrase, readable, SYMBOLS } from './html.ts'
import { type Group, groupsOf } from './reasons.ts'
import {
  correctSection,
  finishSection,
  percentOf,
  progressSection,
  type SubmitterActions,
  stopSection,
} from './sections.ts'

interface Submitted extends SubmitterActions {
  task: TaskStatus
  groups: readonly Group[]
  /** The name of the imported file, if it is known. */
  file: string | undefined
}

const NAME = 200

/** Collects the data of the page, and renders it in the viewer's language. */
export async function answerSubmitter(call: Call): Promise<Response> {
  const { hq, path, url } = call
  const viewer = viewerOf(call)
  const task = await statusWithoutMeta(hq, path)
  const groups = task.counts.failed === 0 ? [] : await groupsOf(call, task, viewer.language)
  const record = await hq.store.tasks.find(task.id)
  const { format, file, export: made } = record ? metaOf(record) : {}
  const page = submitterPage(viewer, {
    task,
    groups,
    file: file?.name,
    format: (made ? undefined : format) ?? formatByName(task.name),
    token: url.searchParams.get('token'),
    readOnly: !call.mayChange,
  })
  return pageAnswer(page, viewer)
}

/** Returns the format for rows that did not come from a file. */
function formatByName(name: string): FileFormat {
  return /\.xls[xm]$/i.test(name) ? 'xlsx' : 'csv'
}

function submitterPage(viewer: Viewer, submitted: Submitted): string {
  const { task, groups, file, token, readOnly } = submitted
  const { id, name, state } = task
  const title = `${state === 'done' ? '✓' : percentOf(viewer, task)} ${readable(name, NAME)}`
  const own = escaped(JSON.stringify(scriptPhrases(viewer.language)))
  const body = `${SYMBOLS}
<main class="sub-page" data-id="${id}" data-phrases="${own}">
<div class="sub-top"><span class="brand">${LOGO}</span><span class="grow"></span><span class="live off scripted" data-part="live"><i class="dot"></i><span data-part="live-text"></span></span><button class="btn ghost icon scripted" type="button" data-part="theme" aria-label="${phrase(viewer, 'theme')}">${icon('sun')}</button></div>
<h1 ${fresh('name')}>${data(name, NAME)}</h1>
<p class="muted">${sentLine(viewer, task, file)}</p>
${progressSection(viewer, task)}
${correctSection(viewer, task, groups)}
${finishSection(viewer, task, submitted)}
${readOnly ? '' : stopSection(viewer, task)}
<p class="dim small foot">${phrase(viewer, 'foot')}</p>
${languages(viewer, new URLSearchParams(token === null ? {} : { token }))}
<i hidden ${fresh('over', false, 'shell')} data-n="${isOver(task) ? 1 : 0}"></i>
</main>`
  const script = '\n<script type="module" src="../assets/submitter.js"></script>'
  return htmlPage(title, body, '..', { head: script, viewer })
}

function sentLine(viewer: Viewer, { createdAt, name }: TaskStatus, file: string | undefined): string {
  const exact = createdAt.toLocaleString(viewer.locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  const when = `<time datetime="${createdAt.toISOString()}" data-part="sent">${escaped(exact)} UTC</time>`
  if (file === undefined || file === name) return phrase(viewer, 'sent', {}, { when })
  return phrase(viewer, 'sentFile', {}, { when, file: data(file, NAME) })
}
