/** The route of facts that do not change while the server runs. */

import { basename } from 'node:path'
import { PROGRAM } from '../../app.ts'
import { appFolder, environmentName } from '../../environment.ts'
import { type Highkiq, VERSION } from '../../index.ts'
import { json } from '../server/answer.ts'
import { get, ok, type Route } from '../server/route.ts'

export const ABOUT_ROUTE: Route = get('/api/v1/about', {
  id: 'getAbout',
  summary: 'Returns the app, its store, and the jobs that this process defines',
  answers: ok('About', 'Facts that do not change while the server runs'),
  async run({ hq, server, request }) {
    const { kind, url } = hq.store
    return json({
      version: VERSION,
      app: await nameOf(hq),
      environment: environmentName() ?? 'development',
      store: { kind, title: titleOf(kind, url) },
      readOnly: server.readOnly,
      hidesValues: server.redaction.isOn,
      canLogOut: await server.access.isSignedIn(request),
      jobs: hq[PROGRAM].jobs().map(({ name, options }) => ({ name, queue: options.queue ?? 'default' })),
    })
  },
})

/** Returns the tag of the app's workers; without a worker the name of the app's folder. */
async function nameOf(hq: Highkiq): Promise<string> {
  for await (const { tag, ours } of hq.processes()) if (ours && tag !== '') return tag
  return appFolder()
}

/** Returns a short title without secrets. */
function titleOf(kind: string, url: string): string {
  if (kind === 'sqlite') return `SQLite · ${basename(url.replace(/^sqlite:/, '').replace(/[?].*$/, '')) || url}`
  if (!URL.canParse(url)) return url
  const { host, pathname } = new URL(url)
  return `${kind === 'postgres' ? 'PostgreSQL' : 'Redis'} · ${host}${pathname === '/' ? '' : pathname}`
}
