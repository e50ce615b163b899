/** The login form: it exchanges a token for an HttpOnly cookie. */

import type { HighkiqError } from '../../job/errors.ts'
import { checkOrigin, cookieName } from '../access/access.ts'
import { readText } from '../server/body.ts'
import { escaped, HTML, htmlPage, LOGO, plainPage } from '../server/html-page.ts'
import { text } from '../server/parameter.ts'
import { type Call, get, post, type Route } from '../server/route.ts'
import { type Viewer, viewerOf, type Word } from '../server/viewer.ts'

/** The most bytes of the form. */
const MOST = 20_000
const FORM = 'application/x-www-form-urlencoded'

/** The most characters of an address in an answer's header; every address of the dashboard is shorter. */
const LONGEST_PATH = 2000

const to = text('where to go on', 20_000)

export const LOGIN_ROUTES: Route[] = [
  get('/login', {
    summary: 'The login form',
    page: true,
    access: 'all',
    query: { to },
    answers: { 200: { description: 'The page', content: { 'text/html': {} } } },
    async run(call) {
      if (await call.server.access.isSignedIn(call.request)) return goTo(call, call.query.to)
      return loginPage(call, viewerOf(call), call.query.to)
    },
  }),
  post('/login', {
    summary: 'Logs in with a token, and sets the cookie',
    page: true,
    access: 'all',
    body: { content: { [FORM]: {} } },
    answers: { 303: { description: 'Redirects to the page that was asked for' } },
    async run(call) {
      const { request, url, server } = call
      checkOrigin(request, url)
      const form = new URLSearchParams(await readText(request, MOST))
      const next = form.get('to') ?? undefined
      try {
        const token = form.get('token')?.trim() ?? ''
        return goTo(call, next, { 'set-cookie': server.access.signIn(token, request, call.peer, cookieAbout(call)) })
      } catch (thrown) {
        const { code, details, status } = thrown as HighkiqError
        if (code !== 'UNAUTHORIZED' && code !== 'TOO_MANY_REQUESTS') throw thrown
        const wait = details?.retryAfter as number | undefined
        const headers = new Headers(wait === undefined ? {} : { 'retry-after': String(wait) })
        return loginPage(call, viewerOf(call), next, { status, headers, isWrong: true, wait })
      }
    },
  }),
  post('/logout', {
    summary: 'Logs out: deletes the cookie, and ends it where it was copied to',
    page: true,
    access: 'all',
    answers: { 303: { description: 'Redirects to the login form' } },
    async run(call) {
      const { hq, request, server, url } = call
      checkOrigin(request, url)
      await server.access.endLogin(request).catch((err) => {
        hq.log.warn({ err }, 'a logout could not be stored: other servers accept copies of its cookie until it expires')
      })
      return goTo(call, undefined, { 'set-cookie': server.access.signOut(cookieAbout(call)) })
    },
  }),
]

type LoginContext = Pick<Call, 'server' | 'base' | 'request'>

/** Returns the page for a browser that opened a page without a login. */
export function loginRequired(context: LoginContext, viewer: Viewer, headers: Headers, path: string): Response {
  const { server, base, request } = context
  const { say } = viewer
  headers.set('content-type', HTML)
  if (!server.access.hasTokens) {
    const page = plainPage(say('login.needed'), say('login.neededWhat'), base, viewer)
    return new Response(page, { status: 401, headers })
  }
  // A browser that follows a link on another site sends no cookie; it does after a redirect from this page.
  const isAlone = ['none', 'same-origin'].includes(request.headers.get('sec-fetch-site') ?? '')
  if (isAlone) return loginPage(context, viewer, path, { status: 401, headers })
  const target = `${base}/login?to=${encodeURIComponent(path)}`
  const head = `\n<meta http-equiv="refresh" content="0; url=${escaped(target)}">`
  const page = htmlPage(say('login'), '', base, { head, viewer })
  return new Response(page, { status: 401, headers })
}

interface Shown {
  status?: number
  isWrong?: boolean
  /** Seconds until the server accepts another token. */
  wait?: number | undefined
  headers?: Headers
}

function loginPage(
  { base }: LoginContext,
  viewer: Viewer,
  to = '',
  { status = 200, isWrong = false, wait, headers = new Headers() }: Shown = {},
): Response {
  const phrase = (word: Word) => escaped(viewer.say(word))
  const body = `<main class="sub-page"><div class="sub-top"><span class="brand">${LOGO}</span></div>
<h1>${phrase('login')}</h1>
<form class="card login" method="post" action="${escaped(base)}/login"><div class="in">
<label for="token">${phrase('login.token')}</label>
<p class="muted small">${phrase('login.which')}</p>
<input name="user" value="highkiq" autocomplete="username" hidden>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus${isWrong ? ' aria-invalid="true" aria-describedby="wrong"' : ''}>
${isWrong ? `<p class="wrong small" id="wrong" role="alert">${wait === undefined ? phrase('login.wrong') : escaped(viewer.say('login.wait', { n: wait }))}</p>\n` : ''}<input type="hidden" name="to" value="${escaped(to)}">
<button class="btn primary">${phrase('login')}</button>
</div></form></main>`
  headers.set('content-type', HTML)
  // Without a referrer policy the form would have no Origin, and changes must come from this server.
  const head = '\n<meta name="referrer" content="same-origin">'
  const page = htmlPage(viewer.say('login'), body, base, { head, viewer })
  return new Response(page, { status, headers })
}

function goTo({ base }: LoginContext, path: string | undefined, headers: Record<string, string> = {}): Response {
  return new Response(null, { status: 303, headers: { ...headers, location: localPath(path, base) } })
}

/** Returns a path on this server only. */
function localPath(path: string | undefined, base: string): string {
  const here = 'http://here.invalid'
  if (path === undefined || path.length > LONGEST_PATH || !path.startsWith('/') || !URL.canParse(path, here))
    return `${base}/`
  const { origin, pathname, search } = new URL(path, here)
  const isHere = origin === here && !pathname.startsWith('//') && `${pathname}/`.startsWith(`${base}/`)
  return isHere ? pathname + search : `${base}/`
}

function cookieAbout({ base, url, request }: Call): { name: string; path: string; secure: boolean } {
  // The first of several proxies names the protocol of the browser.
  const forwarded = request.headers.get('x-forwarded-proto')?.split(',')[0]?.trim()
  const isSecure = url.protocol === 'https:' || forwarded === 'https'
  return { name: cookieName(request), path: base === '' ? '/' : base, secure: isSecure }
}
