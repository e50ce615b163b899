/** The fetch handler: routes a request, checks its caller, and turns errors into answers. */

import { type Context, Hono } from 'hono'
import { methodNotAllowed } from 'hono/method-not-allowed'
import { secureHeaders } from 'hono/secure-headers'
import type { Highkiq } from '../app.ts'
import { codeOf, HighkiqError, statusOfCode } from '../job/errors.ts'
import type { LinkSubject } from '../tasks/link.ts'
import { type Caller, isChange } from './access/access.ts'
import { pendingEntry } from './access/audit.ts'
import type { Peer } from './access/local.ts'
import { APP_ROUTE } from './pages.ts'
import { ROUTES } from './route-table.ts'
import { loginRequired } from './routes/login.ts'
import { errorAnswer, invalid, withoutServerDetails } from './server/answer.ts'
import { checkType, limitWaiting } from './server/body.ts'
import { errorPage } from './server/html-page.ts'
import { membersIn, readParameters } from './server/parameter.ts'
import { checkAccept, type Route, runRead } from './server/route.ts'
import { type HttpOptions, type ServerContext, serverContext } from './server/server-context.ts'
import { viewerOf } from './server/viewer.ts'

/** Facts about a connection, which a Request does not have. `nodeListener` passes them; other callers may. */
export interface Origin extends Peer {
  /** Where the handler is mounted, when no `basePath` says it. */
  base?: string | undefined
}

export type FetchHandler = (request: Request, origin?: Origin) => Promise<Response>

interface Arrival {
  hq: Highkiq
  server: ServerContext
  base: string
  peer: Peer
  url: URL
  /** The path without the base. */
  pathname: string
}

const ANYBODY: Caller = { who: 'anybody' }

/** Paths that are never a page of the dashboard. */
const NOT_PAGES = /^\/(api|assets|healthz|login|logout)(\/|$)/

/** One application for all servers: the server is part of what a request brings. */
const app = new Hono<{ Bindings: Arrival }>({ getPath: (_request, { env } = {}) => (env as Arrival).pathname })

app.use(
  secureHeaders({
    // Allows only resources of this server, no inline scripts or styles, and no frames.
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
    xFrameOptions: 'DENY',
    // This header would speak for the whole host, which is not ours to decide.
    strictTransportSecurity: false,
  }),
  methodNotAllowed({
    app,
    onMethodNotAllowed({ req }, methods) {
      const allow = methods.sort()
      const message = `${req.method} is not allowed on ${req.path} (allowed: ${allow.join(', ')})`
      return errorAnswer(new HighkiqError('METHOD_NOT_ALLOWED', message, { allow }), { allow: allow.join(', ') })
    },
  }),
)
for (const route of ROUTES) {
  app.on(route.method, route.path.replace(/\{(\w+)\}/g, ':$1'), (context) => {
    return answerTo(route.isAlsoPage && isBrowser(context) ? APP_ROUTE : route, context)
  })
}
/** A browser gets the dashboard for an unknown path. */
app.notFound((context) => {
  const { method, path } = context.req
  if ((method === 'GET' || method === 'HEAD') && isBrowser(context) && !NOT_PAGES.test(path))
    return answerTo(APP_ROUTE, context)
  return errorAnswer(new HighkiqError('UNKNOWN_ROUTE', `no route matches ${path}`))
})

function isBrowser({ req }: Context): boolean {
  return req.header('accept')?.includes('text/html') === true
}

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
  return handlerOf(hq, serverContext(hq, options))
}

/** Creates the handler of a context that the caller closes. */
export function handlerOf(hq: Highkiq, server: ServerContext): FetchHandler {
  return async (request, origin) => {
    const { base = server.base, ...peer } = ours(origin)
    const url = new URL(request.url)
    const answer = await app.fetch(request, { hq, server, base, peer, url, pathname: withoutBase(url.pathname, base) })
    if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store')
    return answer
  }
}

async function answerTo(route: Route, { env, req }: Context<{ Bindings: Arrival }>): Promise<Response> {
  const { hq, server, base, peer, url, pathname } = env
  const request = req.raw
  let entry: ReturnType<typeof pendingEntry> | undefined
  let caller = ANYBODY
  try {
    const path = parametersOf(req.param(), pathname)
    caller =
      route.access === 'all' ? ANYBODY : await server.access.check(request, url, subjectOf(route, path, url), peer)
    const changes = isChange(request) && route.page !== true
    const { who, link: opened, isByCookie = false } = caller
    const link = opened?.rights
    if (changes && server.readOnly) throw new HighkiqError('READ_ONLY', 'This server is read-only.')
    if (changes && link === 'read') throw new HighkiqError('READ_ONLY', 'This link is read-only.', { problem: 'link' })
    checkAccept(request.headers.get('accept'), route)
    checkType(request, route)
    limitWaiting(request, server.limits.bodySeconds, link && server.limits.linkBodySeconds)
    const query = readParameters(url.searchParams, route.query ?? {}, route.page)
    const auditor = changes || route.audited ? server.auditor : undefined
    entry = pendingEntry(auditor, { who, action: `${route.method} ${route.path}`, target: path })
    const { add: audit, defer: deferAudit } = entry
    const mayChange = !server.readOnly && link !== 'read'
    const linkShowsHidden = link === 'change' && opened?.isRedacted === false
    const rights = { who, isByCookie, link, linkHolder: opened?.holder, linkShowsHidden, mayChange }
    const call = { hq, server, base, request, url, path, query, peer, ...rights, audit, deferAudit }
    const answer = await (changes ? route.run(call) : runRead(route, call))
    if (changes) {
      server.liveLists.forget()
      server.queueInsight.forget()
    }
    if (answer.status < 400) entry.succeed()
    // Hono drops the body of an answer to HEAD, and would leave a stream open.
    if (request.method === 'HEAD') await answer.body?.cancel()
    return answer
  } catch (thrown) {
    entry?.fail(thrown)
    const isOperator = caller !== ANYBODY && caller.link === undefined
    const answer = refusal(thrown, request, env, isOperator)
    if (!route.page) return answer
    answer.headers.delete('content-length')
    const isLink = url.searchParams.has('token')
    const viewer = viewerOf({ request, url, base })
    if (answer.status === 401 && !isLink) {
      return loginRequired({ server, base, request }, viewer, answer.headers, base + pathname + url.search)
    }
    return errorPage(thrown, answer.status, { headers: answer.headers, root: base, viewer, isLink, isOperator })
  }
}

/** Returns what a link must open to be enough for a route; undefined where a link is not. */
function subjectOf({ access }: Route, { id }: Record<string, string>, { searchParams }: URL): LinkSubject | undefined {
  if (access === 'task' && id !== undefined) return { task: id }
  if (access !== 'meta') return undefined
  const meta = membersIn(searchParams, 'meta')
  return Object.keys(meta).length > 0 ? { meta } : undefined
}

function refusal(thrown: unknown, { signal }: Request, { hq, server }: Arrival, isOperator: boolean): Response {
  const code = codeOf(thrown)
  const isLeft = signal.aborted && thrown === signal.reason
  if (!isLeft && (!code || statusOfCode(code) >= 500)) hq.log.error({ err: thrown }, 'a request failed')
  // The message of a failure of the server may name its store.
  const shown = isOperator ? thrown : withoutServerDetails(thrown)
  return errorAnswer(shown, code === 'UNAUTHORIZED' ? server.access.challenge : {})
}

/**
 * Clients resolve the segments `.` and `..`, encoded or not, so they never arrive. A name of one or two dots, with any
 * number of `~` before them, gets one more `~`: `~..` is the queue `..`, and `~~..` the queue `~..`.
 */
function parametersOf(decoded: Record<string, string>, pathname: string): Record<string, string> {
  const entries = Object.entries(decoded)
  if (entries.length > 0 && !isUtf8(pathname)) throw invalid(`the path ${pathname} must be percent-encoded UTF-8`)
  return Object.fromEntries(entries.map(([name, value]) => [name, value.replace(/^~(?=~*\.\.?$)/, '')]))
}

function isUtf8(encoded: string): boolean {
  try {
    return decodeURIComponent(encoded) !== ''
  } catch {
    return false
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
