/** The fetch handler: routes a request, checks its caller, and turns errors into answers. */

import type { Highkiq } from '../app.ts'
import { codeOf, HighkiqError, statusOfCode } from '../job/errors.ts'
import { type Caller, isChange } from './access/access.ts'
import { PendingEntry } from './access/audit.ts'
import type { Peer } from './access/local.ts'
import { APP_ROUTE } from './pages.ts'
import { ROUTES } from './route-table.ts'
import { loginRequired } from './routes/login.ts'
import { errorAnswer, guarded } from './server/answer.ts'
import { checkType, limitWaiting } from './server/body.ts'
import { errorPage } from './server/html-page.ts'
import { readParameters } from './server/parameter.ts'
import { checkAccept, Router } from './server/route.ts'
import { type HttpOptions, ServerContext } from './server/server-context.ts'
import { viewerOf } from './server/viewer.ts'

/** Facts about a connection, which a Request does not have. `nodeListener` passes them; other callers may. */
export interface Origin extends Peer {
  /** Where the handler is mounted, when no `basePath` says it. */
  base?: string | undefined
}

export type FetchHandler = (request: Request, origin?: Origin) => Promise<Response>

const router = new Router(ROUTES)
const ANYBODY: Caller = { who: 'anybody' }

/** Paths that are never a page of the dashboard. */
const NOT_PLACES = /^\/(api|assets|healthz|login|logout)(\/|$)/

/**
 * The HTTP API of an app in the web's own shape: it mounts in Hono, Next, Bun, Deno. In `node:http`, Express and Fastify
 * use `nodeListener`.
 *
 * Without `auth` it answers only what comes from this machine to a loopback name, and only when it is told where a
 * request comes from: `handle(request, { remote: '127.0.0.1' })`.
 * @throws INVALID_OPTION
 *
 * @example
 * app.mount('/jobs', createHandler(hq, { auth: { bearer: 'a long secret' } }))
 */
export function createHandler(hq: Highkiq, options: HttpOptions = {}): FetchHandler {
  return handlerOf(hq, new ServerContext(hq, options))
}

/** Creates the handler of a context that the caller closes. */
export function handlerOf(hq: Highkiq, server: ServerContext): FetchHandler {
  return async (request, origin) => {
    const answer = await answerTo(request, ours(origin))
    if (request.method !== 'HEAD') return guarded(answer)
    await answer.body?.cancel()
    return guarded(new Response(null, answer))
  }

  async function answerTo(request: Request, { base = server.base, ...peer }: Origin): Promise<Response> {
    const url = new URL(request.url)
    const pathname = withoutBase(url.pathname, base)
    let isPage = false
    let entry: PendingEntry | undefined
    try {
      const { route, path } = find(request, pathname)
      isPage = route.page === true
      const task = route.access === 'task' ? path.id : undefined
      const caller = route.access === 'all' ? ANYBODY : await server.access.check(request, url, task, peer)
      const changes = isChange(request) && route.page !== true
      const { who, link } = caller
      if (changes && server.readOnly) throw new HighkiqError('READ_ONLY', 'This server is read-only.')
      if (changes && link === 'read') throw new HighkiqError('READ_ONLY', 'This link is read-only.')
      checkAccept(request.headers.get('accept'), route)
      checkType(request, route)
      limitWaiting(request, server.limits.bodySeconds)
      const query = readParameters(url.searchParams, route.query ?? {}, route.page)
      const auditor = changes || route.audited ? server.auditor : undefined
      entry = new PendingEntry(auditor, { who, action: `${route.method} ${route.path}`, target: path })
      const { add: audit, defer: deferAudit } = entry
      const mayChange = !server.readOnly && link !== 'read'
      const answer = await route.run({
        hq,
        server,
        base,
        request,
        url,
        path,
        query,
        peer,
        link,
        mayChange,
        audit,
        deferAudit,
      })
      if (answer.status < 400) entry.succeed()
      return answer
    } catch (thrown) {
      entry?.fail()
      const answer = refusal(thrown, request)
      if (!isPage) return answer
      const isLink = url.searchParams.has('token')
      const viewer = viewerOf(request, url, base)
      if (answer.status === 401 && !isLink) {
        return loginRequired({ server, base, request }, viewer, answer.headers, base + pathname + url.search)
      }
      return errorPage(thrown, answer.status, { headers: answer.headers, root: base, viewer, isLink })
    }
  }

  function refusal(thrown: unknown, { signal }: Request): Response {
    const code = codeOf(thrown)
    const isLeft = signal.aborted && thrown === signal.reason
    if (!isLeft && (!code || statusOfCode(code) >= 500)) hq.log.error({ err: thrown }, 'a request failed')
    if (code === 'UNAUTHORIZED') return errorAnswer(thrown, server.access.challenge)
    if (code !== 'METHOD_NOT_ALLOWED') return errorAnswer(thrown)
    const { allow } = (thrown as { details: { allow: string[] } }).details
    return errorAnswer(thrown, { allow: allow.join(', ') })
  }
}

/** Finds the route. A browser gets the dashboard for an unknown path. @throws UNKNOWN_ROUTE, METHOD_NOT_ALLOWED */
function find(request: Request, pathname: string): ReturnType<Router['find']> {
  const { method, headers } = request
  try {
    return router.find(method, pathname)
  } catch (thrown) {
    const isAsked = (method === 'GET' || method === 'HEAD') && headers.get('accept')?.includes('text/html')
    if (isAsked && !NOT_PLACES.test(pathname)) return { route: APP_ROUTE, path: {} }
    throw thrown
  }
}

/** Ignores the second argument of a framework unless its members have the right types. */
function ours(origin: Origin | undefined): Origin {
  const { remote, httpVersion, base } = origin ?? {}
  return {
    remote: typeof remote === 'string' ? remote : undefined,
    httpVersion: typeof httpVersion === 'string' ? httpVersion : undefined,
    base: typeof base === 'string' && base !== '' ? base : undefined,
  }
}

/** Removes the base path, unless a framework has already removed it. */
function withoutBase(pathname: string, base: string): string {
  if (base === '' || (pathname !== base && !pathname.startsWith(`${base}/`))) return pathname
  return pathname.slice(base.length) || '/'
}
