/** The route of what does not change while a page is open. */

import { basename } from 'node:path'
import { PROGRAM } from '../../app.ts'
import { appFolder, environmentName } from '../../environment.ts'
import { type Highkiq, VERSION } from '../../index.ts'
import { json } from '../server/answer.ts'
import { type Route, route } from '../server/route.ts'
import { boolean, list, object, type Schema, text } from '../server/schema.ts'

export const ABOUT_ROUTE: Route = route({
  method: 'GET',
  path: '/api/v1/about',
  summary: 'What this is: the app, its store, and the jobs that are known here',
  answers: { 200: { description: 'What does not change', content: { 'application/json': 'About' } } },
  async run({ hq, server, request }) {
    const { kind, url } = hq.store
    return json({
      version: VERSION,
      app: await nameOf(hq),
      environment: environmentName() ?? 'development',
      store: { kind, title: titleOf(kind, url) },
      readOnly: server.readOnly,
      canLogOut: server.access.isSignedIn(request),
      jobs: hq[PROGRAM].jobs().map(({ name, options }) => ({ name, queue: options.queue ?? 'default' })),
    })
  },
})

/** The tag of its workers; before any of them has begun it is what theirs would be here. */
async function nameOf(hq: Highkiq): Promise<string> {
  for await (const { tag, ours } of hq.processes()) if (ours && tag !== '') return tag
  return appFolder()
}

/** In few words, without what is secret. */
function titleOf(kind: string, url: string): string {
  if (kind === 'sqlite') return `SQLite · ${basename(url.replace(/^sqlite:/, '').replace(/[?].*$/, '')) || url}`
  if (!URL.canParse(url)) return url
  const { host, pathname } = new URL(url)
  return `Redis · ${host}${pathname === '/' ? '' : pathname}`
}

export const ABOUT_SCHEMAS: Record<string, Schema> = {
  About: object({
    version: text,
    app: text,
    environment: text,
    store: object({ kind: { enum: ['sqlite', 'redis'] }, title: text }),
    readOnly: boolean,
    canLogOut: { ...boolean, description: 'a cookie has let this client in: POST /logout forgets it' },
    jobs: list(object({ name: text, queue: text })),
  }),
}
