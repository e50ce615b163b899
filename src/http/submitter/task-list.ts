/** The list of a submitter's tasks: those with the `meta` of the link. Each leads to the page of that task. */

import { codeOf } from '../../job/errors.ts'
import type { TaskStatus } from '../../tasks/task.ts'
import { tokenOf } from '../access/access.ts'
import { escaped, htmlPage, LOGO, pageAnswer } from '../server/html-page.ts'
import { membersIn } from '../server/parameter.ts'
import type { Call } from '../server/route.ts'
import { type Viewer, viewerOf } from '../server/viewer.ts'
import { data, languages, phrase } from './html.ts'
import { leftOf } from './sections.ts'

const NAME = 200

/** @throws INVALID_OPTION */
export async function answerTaskList(call: Call): Promise<Response> {
  const { hq, server, url, mayChange } = call
  const viewer = viewerOf(call)
  const search = new URLSearchParams(url.searchParams)
  const cursor = search.get('cursor')
  const meta = membersIn(search, 'meta')
  const { items, next } = await hq.tasks.list({ meta, ...(cursor === null ? {} : { cursor }) })
  const link = { rights: mayChange ? 'change' : 'read', by: tokenOf(call.request, url) ?? '' } as const
  const rows = items.map(async (task) => {
    try {
      const token = await server.links.listedTaskToken(task.id, meta, link)
      return [taskItem(viewer, task, `${call.base}/tasks/${task.id}?token=${token}`)]
    } catch (thrown) {
      // The task was deleted meanwhile.
      if (codeOf(thrown) === 'UNKNOWN_TASK') return []
      throw thrown
    }
  })
  const list = (await Promise.all(rows)).flat()
  const body = `<main class="sub-page">
<div class="sub-top"><span class="brand">${LOGO}</span></div>
<h1>${phrase(viewer, 'mine')}</h1>
${list.length > 0 ? `<ul class="card mine">${list.join('\n')}</ul>` : ''}
${list.length === 0 && next === null ? `<p class="muted">${phrase(viewer, 'mine.none')}</p>` : ''}
${next === null ? '' : olderLink(viewer, search, next)}
<p class="dim small foot">${phrase(viewer, 'mine.foot')}</p>
${languages(viewer, search)}
</main>`
  return pageAnswer(htmlPage(viewer.say('mine'), body, call.base, { viewer }), viewer)
}

function taskItem(viewer: Viewer, task: TaskStatus, href: string): string {
  const exact = task.createdAt.toLocaleString(viewer.locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  const when = `<time datetime="${task.createdAt.toISOString()}">${escaped(exact)} UTC</time>`
  const sent = phrase(viewer, 'sent', {}, { when })
  return `<li class="in"><a class="b" href="${escaped(href)}">${data(task.name, NAME)}</a><p class="muted small">${leftOf(viewer, task)} · ${sent}</p></li>`
}

function olderLink(viewer: Viewer, search: URLSearchParams, next: string): string {
  const older = new URLSearchParams(search)
  older.set('cursor', next)
  return `<p><a class="btn" href="?${escaped(String(older))}">${phrase(viewer, 'mine.older')}</a></p>`
}
