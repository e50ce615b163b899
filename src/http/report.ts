/** The rows that a task rejected, as a file. */

import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Highkiq } from '../app.ts'
import { stringifyJson } from '../job/json.ts'
import type { TaskStatus } from '../tasks/task.ts'
import { oneOf } from './parameter.ts'
import { type Route, route } from './route.ts'
import { eventsOf, statusOf } from './task.ts'

const TYPES = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  ndjson: 'application/x-ndjson',
}
const PAGE = 500

export const REPORT_ROUTE: Route = route({
  method: 'GET',
  path: '/api/v1/tasks/{id}/report',
  summary: 'The rows that did not finish: the columns as they came, then why',
  access: 'task',
  query: { format: oneOf(['csv', 'xlsx', 'ndjson'], 'default csv') },
  answers: {
    200: {
      description: 'The file',
      content: {
        'text/csv': { type: 'string' },
        [TYPES.xlsx]: { type: 'string', format: 'binary' },
        'application/x-ndjson': { type: 'string', description: 'a TaskEvent a line' },
      },
      headers: { 'content-disposition': 'its name' },
    },
  },
  async run({ hq, path, query: { format = 'csv' } }) {
    const task = await statusOf(hq, path)
    const content =
      format === 'ndjson' ? Readable.from(lines(hq, task), { objectMode: false }) : await file(hq, task, format)
    const body = Readable.toWeb(content) as ReadableStream<Uint8Array>
    const headers = {
      'content-type': TYPES[format],
      'content-disposition': attachment(`${task.name} - rejected.${format}`),
    }
    return new Response(body, { headers })
  },
})

/** A header of its name that every browser reads: RFC 6266, the name in ASCII for those that know no better. */
export function attachment(name: string): string {
  const safe = name.replace(/[\\/:*?"<>|\p{Cc}]/gu, '_')
  const ascii = safe.replace(/[^\x20-\x7e]/g, '_')
  const encoded = encodeURIComponent(safe.toWellFormed()).replace(
    /['()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

async function* lines(hq: Highkiq, task: TaskStatus): AsyncGenerator<Buffer> {
  for (let after = -1; ; ) {
    const events = await eventsOf(hq, task, { status: ['failed', 'error', 'cancelled'], after, limit: PAGE })
    if (events.length > 0) yield Buffer.from(events.map((event) => `${stringifyJson(event)}\n`).join(''))
    const last = events.at(-1)
    if (!last || events.length < PAGE) return
    after = last.index
  }
}

/** Written whole first, so that what goes wrong is told by the status; it has no name any more when it is sent. */
async function file(hq: Highkiq, { id }: TaskStatus, format: 'csv' | 'xlsx'): Promise<Readable> {
  const folder = await mkdtemp(join(tmpdir(), 'highkiq-report-'))
  try {
    const path = join(folder, `report.${format}`)
    await hq.tasks.get(id).report(path)
    return (await open(path)).createReadStream()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
