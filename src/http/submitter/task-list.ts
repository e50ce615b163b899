/** The list of a submitter's tasks: those with the `meta` of the link. Each leads to the page of that task. */

import { endOfToken } from '../../tasks/link.ts'
import type { TaskStatus } from '../../tasks/task.ts'
import { tokenOf } from '../access/access.ts'
import { escaped, htmlPage, pageAnswer } from '../server/html-page.ts'
import { membersIn } from '../server/parameter.ts'
import type { Call } from '../server/route.ts'
import { type Viewer, viewerOf } from '../server/viewer.ts'
import { data, LOGO, languages, phrase } from './html.ts'
import { leftOf } from './sections.ts'

const NAME = 200

/** @throws INVALID_OPTION */
export async function answerTaskList(call: Call): Promise<Response> {
  const { hq, server, url, mayChange } = call
  const viewer = viewerOf(call)
  const search = new URLSearchParams(url.searchParams)
  const cursor = search.get('cursor')
  const { items, next } = await hq.tasks.list({
    meta: membersIn(search, 'meta'),
    ...(cursor === null ? {} : { cursor }),
  })
  // A link of a task gives the same rights as the link of the list, and ends with it.
  const rights = mayChange ? 'change' : 'read'
  const until = endOfToken(tokenOf(call.request, url) ?? '')
  const rows = items.map(async (task) => {
    const token = await server.links.taskToken(task.id, rights, until)
    return taskItem(viewer, task, `${call.base}/tasks/${task.id}?token=${token}`)
  })
  const list = await Promise.all(rows)
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
