/** Routes of pages and their files. */

import { getMimeType } from 'hono/utils/mime'
import { assets } from './assets.generated.ts'
import { get, type Route } from './server/route.ts'
import { answerSubmitter } from './submitter/page.ts'
import { answerTaskList } from './submitter/task-list.ts'

export const PAGE_ROUTES: Route[] = [
  get('/tasks', {
    summary: "A submitter's tasks for callers with the link to them; the dashboard for others",
    page: true,
    access: 'meta',
    answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
    run: (call) => (call.link ? answerTaskList(call) : call.server.dashboard.page(call.base)),
  }),
  get('/tasks/{id}', {
    summary: "The submitter's page for callers with the task's link; the dashboard for others",
    page: true,
    access: 'task',
    answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
    run: (call) => (call.link ? answerSubmitter(call) : call.server.dashboard.page(call.base)),
  }),
  get('/assets/{file}', {
    summary: "A file of the dashboard, or a script or style of the server's own pages",
    page: true,
    access: 'all',
    answers: { 200: { description: 'The file', content: {} } },
    run({ server, path: { file = '' }, request }) {
      if (!Object.hasOwn(assets, file)) return server.dashboard.file(file, request)
      const headers = { 'content-type': getMimeType(file) as string, 'cache-control': 'no-cache' }
      return new Response(assets[file], { headers })
    },
  }),
]

/** The dashboard is one page for all its addresses. */
export const APP_ROUTE: Route = get('/', {
  summary: 'The dashboard',
  page: true,
  answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
  run: ({ server, base }) => server.dashboard.page(base),
})
