/** From a request to an answer. */

import type { Highkiq } from '../app.ts'
import { codeOf, HighkiqError, statusOfCode } from '../job/errors.ts'
import { isChange, type Visitor } from './access/access.ts'
import type { Deed } from './access/audit.ts'
import type { Peer } from './access/local.ts'
import { wayIn } from './access/login.ts'
import { errorAnswer, guarded } from './answer.ts'
import { checkType, limitWaiting } from './body.ts'
import { errorPage } from './frame.ts'
import { APP_ROUTE } from './page.ts'
import { readParameters } from './parameter.ts'
import { readerOf } from './reader.ts'
import { checkAccept, type Route, Router } from './route.ts'
import { ROUTES } from './routes.ts'
import { type HttpOptions, Site } from './site.ts'

/** What is known beside the request: `nodeListener` tells it, and whoever calls a handler may. */
export interface Origin extends Peer {
  /** Where the handler is mounted, when no `basePath` says it. */
  base?: string | undefined
}

export type FetchHandler = (request: Request, origin?: Origin) => Promise<Response>

const router = new Router(ROUTES)
const NOBODY: Visitor = { who: 'anybody' }

/** Where no place of the dashboard is. */
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
  return handlerOf(hq, new Site(hq, options))
}

/** The handler of a site that its caller closes. */
export function handlerOf(hq: Highkiq, site: Site): FetchHandler {
  return async (request, origin) => {
    const answer = await answerTo(request, ours(origin))
    if (request.method !== 'HEAD') return guarded(answer)
    await answer.body?.cancel()
    return guarded(new Response(null, answer))
  }

  async function answerTo(request: Request, { base = site.base, ...peer }: Origin): Promise<Response> {
    const url = new URL(request.url)
    const pathname = withoutBase(url.pathname, base)
    let isPage = false
    let telling: ReturnType<typeof tellingOf> | undefined
    try {
      const { route, path } = find(request, pathname)
      isPage = route.page === true
      const task = route.access === 'task' ? path.id : undefined
      const visitor = route.access === 'all' ? NOBODY : await site.access.check(request, url, task, peer)
      const changes = isChange(request) && route.page !== true
      const { who, link } = visitor
      if (changes && site.readOnly) throw new HighkiqError('READ_ONLY', 'this server is read-only')
      if (changes && link === 'look') throw new HighkiqError('READ_ONLY', 'this link is read-only')
      checkAccept(request.headers.get('accept'), route)
      checkType(request, route)
      limitWaiting(request, site.limits.bodySeconds)
      const query = readParameters(url.searchParams, route.query ?? {}, route.page)
      if (changes || route.audited) telling = tellingOf(who, route, path)
      const { did = () => {}, later = () => () => {} } = telling ?? {}
      const mayChange = !site.readOnly && link !== 'look'
      const answer = await route.run({ hq, site, base, request, url, path, query, peer, link, mayChange, did, later })
      if (answer.status < 400) telling?.answered()
      return answer
    } catch (thrown) {
      telling?.brokenOff()
      const answer = refusal(thrown, request)
      if (!isPage) return answer
      const isLink = url.searchParams.has('token')
      const reader = readerOf(request, url, base)
      if (answer.status === 401 && !isLink) {
        return wayIn({ site, base, request }, reader, answer.headers, base + pathname + url.search)
      }
      return errorPage(thrown, answer.status, { headers: answer.headers, root: base, reader, isLink })
    }
  }

  function tellingOf(who: string, { method, path: action }: Route, target: Record<string, string>) {
    const deed: Deed = {}
    let isLater = false
    const write = () => site.auditor.write({ who, action: `${method} ${action}`, target }, deed)
    return {
      did: (more: Deed) => void Object.assign(deed, more),
      later: () => {
        isLater = true
        return write
      },
      answered: () => {
        if (!isLater) write()
      },
      // Who hangs up, or asks for one thing too many, has done what was done before.
      brokenOff: () => {
        if (isLater || !deed.count) return
        deed.brokenOff = true
        write()
      },
    }
  }

  function refusal(thrown: unknown, { signal }: Request): Response {
    const code = codeOf(thrown)
    const isLeft = signal.aborted && thrown === signal.reason
    if (!isLeft && (!code || statusOfCode(code) >= 500)) hq.log.error({ err: thrown }, 'a request failed')
    if (code === 'UNAUTHORIZED') return errorAnswer(thrown, site.access.challenge)
    if (code !== 'METHOD_NOT_ALLOWED') return errorAnswer(thrown)
    const { allow } = (thrown as { details: { allow: string[] } }).details
    return errorAnswer(thrown, { allow: allow.join(', ') })
  }
}

/** Where no route is, people find the dashboard, which knows its own places. @throws UNKNOWN_ROUTE, METHOD_NOT_ALLOWED */
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

/** What frameworks give as a second argument is theirs. */
function ours(origin: Origin | undefined): Origin {
  const { remote, httpVersion, base } = origin ?? {}
  return {
    remote: typeof remote === 'string' ? remote : undefined,
    httpVersion: typeof httpVersion === 'string' ? httpVersion : undefined,
    base: typeof base === 'string' && base !== '' ? base : undefined,
  }
}

/** A framework may have taken the base off already. */
function withoutBase(pathname: string, base: string): string {
  if (base === '' || (pathname !== base && !pathname.startsWith(`${base}/`))) return pathname
  return pathname.slice(base.length) || '/'
}
