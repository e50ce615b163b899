/** Collects the data of the submitter's page, and renders it in the viewer's language. */

import { metaOf } from '../../tasks/meta.ts'
import type { FileFormat } from '../../tasks/spreadsheet/format.ts'
import { statusOf } from '../routes/tasks/queries.ts'
import { HTML } from '../server/html-page.ts'
import type { Call } from '../server/route.ts'
import { viewerOf } from '../server/viewer.ts'
import { submitterPage } from './page.ts'
import { groupsOf } from './reasons.ts'

export async function answerSubmitter(call: Call): Promise<Response> {
  const { hq, base, path, url, request } = call
  const reader = viewerOf(request, url, base)
  const task = await statusOf(hq, path)
  const groups = task.counts.failed === 0 ? [] : await groupsOf(call, task, reader.language)
  const record = await hq.store.tasks.find(task.id)
  const { format, source, export: made } = record ? metaOf(record) : {}
  const page = submitterPage(reader, {
    task,
    groups,
    file: source,
    format: (made ? undefined : format) ?? formatByName(task.name),
    token: url.searchParams.get('token'),
    readOnly: !call.mayChange,
  })
  const headers = new Headers({ 'content-type': HTML, 'content-language': reader.language })
  if (reader.cookie) headers.set('set-cookie', reader.cookie)
  return new Response(page, { headers })
}

/** Returns the format for rows that did not come from a file. */
function formatByName(name: string): FileFormat {
  return /\.xls[xm]$/i.test(name) ? 'xlsx' : 'csv'
}
