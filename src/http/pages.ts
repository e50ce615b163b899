/** Routes of pages and their files. */

import { assets } from './assets.generated.ts'
import { type Route, route } from './server/route.ts'
import { answerSubmitter } from './submitter/page.ts'

export const PAGE_ROUTES: Route[] = [
  route({
    method: 'GET',
    path: '/tasks/{id}',
    summary: "The submitter's page for callers with the task's link; the dashboard for others",
    page: true,
    access: 'task',
    answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
    run: (call) => (call.link ? answerSubmitter(call) : call.server.dashboard.page(call.base)),
  }),
  ...Object.entries(assets).map(([name, text]) =>
    route({
      method: 'GET',
      path: `/assets/${name}`,
      summary: "A script or style of the submitter's page",
      page: true,
      access: 'all',
      answers: { 200: { description: 'The file', content: {} } },
      run() {
        const type = name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
        return new Response(text, { headers: { 'content-type': type, 'cache-control': 'no-cache' } })
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/assets/{file}',
    summary: 'A file of the dashboard',
    page: true,
    access: 'all',
    answers: { 200: { description: 'The file', content: {} } },
    run: ({ server, base, path, request }) => server.dashboard.file(base, path.file ?? '', request),
  }),
]

/** The dashboard is one page for all its addresses. */
export const APP_ROUTE: Route = route({
  method: 'GET',
  path: '/',
  summary: 'The dashboard',
  page: true,
  answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
  run: ({ server, base }) => server.dashboard.page(base),
})
