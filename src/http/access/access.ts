/** Checks who may send a request: by login, by a link to tasks, or from this machine. Refuses pages of other sites. */

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { auth as basicLogin } from 'hono/utils/basic-auth'
import { HighkiqError, invalidOption } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { refuseUnknown } from '../../job/options.ts'
import type { LinkSubject, Links, OpenedLink } from '../../tasks/link.ts'
import { checkLocal, hostnameOf, isLoopback, type Peer } from './local.ts'
import { type Logins, type LoginsOptions, loginsOf } from './logins.ts'
import type { Sessions } from './sessions.ts'

/**
 * A login: a bearer token (or several, optionally with the names of their owners: `{ ann: 'a long secret' }`), a
 * name with its password, or both. A function decides instead, for apps that know their users already; it answers false
 * to refuse, and true or the user's name to let in.
 */
export type Auth =
  | {
      bearer?: string | readonly string[] | Readonly<Record<string, string>>
      basic?: { user: string; password: string }
    }
  | ((request: Request) => boolean | string | Promise<boolean | string>)

/** The caller of an accepted request. */
export interface Caller {
  /** The name of the login; without one `bearer`, `app`, `loopback`, or `link`. */
  who: string
  /** The task link that was used; undefined when the caller did not come by a link. */
  link?: OpenedLink
  /** True for a login by the form, which a logout ends. */
  isByCookie?: boolean
}

interface Login extends Pick<Caller, 'who' | 'isByCookie'> {
  isBearer?: boolean
}

interface Token {
  who: string
  digest: Buffer
}

export interface AccessOptions extends LoginsOptions {
  links: Links
  sessions: Sessions
  /** Whether the server has rules of `redact`. */
  hidesValues: boolean
}

const COOKIE_SECONDS = 30 * 86_400

export class Access {
  readonly #auth: Auth | undefined
  readonly #bearers: Token[]
  readonly #basic: Token | undefined
  readonly #links: Links
  readonly #hidesValues: boolean
  readonly #sessions: Sessions
  readonly #attempt: Logins

  /** @throws INVALID_OPTION */
  constructor(auth: Auth | undefined, { links, sessions, hidesValues, ...options }: AccessOptions) {
    checkAuth(auth)
    this.#auth = auth
    this.#links = links
    this.#sessions = sessions
    this.#hidesValues = hidesValues
    this.#attempt = loginsOf(options)
    const { bearer = [], basic } = typeof auth === 'object' ? auth : {}
    this.#bearers = tokensOf(bearer).map(([who, token]) => ({ who, digest: digest(token) }))
    this.#basic = basic && { who: basic.user, digest: digest(`${basic.user}:${basic.password}`) }
  }

  /**
   * @param subject what the route is about, when a link to it is enough
   * @throws UNAUTHORIZED, FORBIDDEN, TOO_MANY_REQUESTS after many wrong logins
   */
  async check(request: Request, url: URL, subject: LinkSubject | undefined, peer: Peer): Promise<Caller> {
    if (!this.#auth) checkLocal(request, url, peer)
    // A page of another site can't know the link, so a change with it needs no further check.
    const link = subject === undefined ? undefined : await this.#linkOf(request, url, subject)
    if (link) return { who: 'link', link }
    const { who, isBearer = false, isByCookie = false } = (await this.#login(request, peer)) ?? {}
    if (who === undefined)
      throw new HighkiqError('UNAUTHORIZED', 'log in: the header Authorization is missing or wrong')
    if (isChange(request) && !isBearer) checkOrigin(request, url)
    // The app's own function may let pages of other sites in.
    if (!isBearer && typeof this.#auth !== 'function') checkCrossSite(request)
    return { who, isByCookie }
  }

  /** True when the server accepts bearer tokens. */
  get hasTokens(): boolean {
    return this.#bearers.length > 0
  }

  /**
   * Returns the cookie that stands for a token for 30 days. It does not contain the token.
   * @throws UNAUTHORIZED for a wrong token; TOO_MANY_REQUESTS after many wrong ones
   */
  signIn(token: string, request: Request, peer: Peer, options: CookieOptions): string {
    const known = oneOf(token, this.#bearers)
    const attempt = this.#attempt(request, peer, 'form')
    if (!known) throw attempt.wrong()
    attempt.right(known.who, true)
    const until = Math.floor(Date.now() / 1000) + COOKIE_SECONDS
    const id = randomBytes(16).toString('base64url')
    return cookie(`${until}.${id}.${signed(known.digest, until, id).toString('base64url')}`, COOKIE_SECONDS, options)
  }

  /** Returns the cookie that deletes that of a login. */
  signOut(options: CookieOptions): string {
    return cookie('', 0, options)
  }

  /** Ends the login of this request, also for copies of its cookie. @throws what the store throws */
  async endLogin(request: Request): Promise<void> {
    for (const { id, until } of this.#validLogins(request)) await this.#sessions.end(id, until)
  }

  async isSignedIn(request: Request): Promise<boolean> {
    return (await this.#signedIn(request)) !== undefined
  }

  async #signedIn(request: Request): Promise<Token | undefined> {
    for (const { token, id } of this.#validLogins(request)) {
      if (!(await this.#sessions.hasEnded(id))) return token
    }
    return undefined
  }

  /** Returns the cookies of this request that are signed and have not expired, with their tokens. */
  #validLogins(request: Request): { token: Token; id: string; until: number }[] {
    return cookiesOf(request).flatMap((value) => {
      const [, end, id = '', signature = ''] = /^(\d{1,12})\.([\w-]{22})\.([\w-]{43})$/.exec(value) ?? []
      const until = Number(end)
      if (end === undefined || until * 1000 < Date.now()) return []
      const given = Buffer.from(signature, 'base64url')
      const tokens = this.#bearers.filter(({ digest }) => timingSafeEqual(given, signed(digest, until, id)))
      return tokens.slice(0, 1).map((token) => ({ token, id, until }))
    })
  }

  /** The header that asks a client for a login. */
  get challenge(): Record<string, string> {
    if (this.#basic) return { 'www-authenticate': 'Basic realm="Highkiq", charset="UTF-8"' }
    return { 'www-authenticate': 'Bearer realm="Highkiq"' }
  }

  async #linkOf(request: Request, url: URL, subject: LinkSubject): Promise<OpenedLink | undefined> {
    const token = tokenOf(request, url)
    const isInUrl = url.searchParams.has('token')
    // The store is not asked about the token of a login.
    if (token === undefined || (!isInUrl && oneOf(token, this.#bearers))) return undefined
    const link = await this.#links.opens(subject, token)
    if (link?.isRedacted && !this.#hidesValues) {
      const message =
        'this link was made by a server with redact, and this server has no redact: open the link there, or request a new link here'
      throw new HighkiqError('UNAUTHORIZED', message)
    }
    // A bearer token that opens nothing may be that of a login.
    if (link || !isInUrl) return link
    throw new HighkiqError(
      'UNAUTHORIZED',
      'this link does not open this task: request a new link. If no link opens its task, give the app that makes the links and this server the same secret',
    )
  }

  /**
   * Reads the login of a request; undefined when it has none.
   * @throws UNAUTHORIZED for a wrong login; TOO_MANY_REQUESTS after many wrong ones
   */
  async #login(request: Request, peer: Peer): Promise<Login | undefined> {
    const auth = this.#auth
    if (!auth) return { who: 'loopback' }
    if (typeof auth === 'function') {
      const answer = await auth(request)
      return answer ? { who: typeof answer === 'string' ? answer : 'app' } : undefined
    }
    const bearer = bearerOf(request)
    const token = bearer === undefined ? undefined : oneOf(bearer, this.#bearers)
    if (token) {
      // A token is too long to be guessed, so a right one never has to wait.
      this.#attempt(request, peer, 'bearer').right(token.who)
      return { who: token.who, isBearer: true }
    }
    // The header may belong to a proxy's own login.
    const signedIn = await this.#signedIn(request)
    if (signedIn) return { who: signedIn.who, isByCookie: true }
    if (bearer !== undefined) throw this.#attempt(request, peer, 'bearer').wrong()
    const basic = basicLogin(request)
    if (!basic || !this.#basic) return undefined
    const attempt = this.#attempt(request, peer, 'basic', basic.username)
    // A password may be short enough to guess, so it is not even compared before the wait is over.
    attempt.refuseEarly()
    const login = oneOf(`${basic.username}:${basic.password}`, [this.#basic])
    if (!login) throw attempt.wrong()
    attempt.right(login.who)
    return login
  }
}

/** Returns each token with the name of its owner. */
function tokensOf(bearer: string | readonly string[] | Readonly<Record<string, string>>): [who: string, string][] {
  if (typeof bearer === 'string') return [['bearer', bearer]]
  if (Array.isArray(bearer)) return bearer.map((token) => ['bearer', token])
  return Object.entries(bearer)
}

interface CookieOptions {
  name: string
  path: string
  /** The request came over TLS, so the browser must send the cookie over TLS only. */
  secure: boolean
}

/** Returns a name with the port in it, since a browser sends a cookie to every port of a host. */
export function cookieName(request: Request): string {
  const { port } = new URL(request.url)
  return port === '' ? 'highkiq_login' : `highkiq_login_${port}`
}

function cookie(value: string, seconds: number, { name, path, secure }: CookieOptions): string {
  const end = secure ? '; Secure' : ''
  return `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${end}`
}

/** Returns all cookies with our name: one with another path may come before ours. */
function cookiesOf(request: Request): string[] {
  const ours = cookieName(request)
  const all = (request.headers.get('cookie') ?? '').split(';').map((part) => part.trim().split('='))
  return all.filter(([name]) => name === ours).map(([, value = '']) => value)
}

/** Signs with the token itself, so that a new token ends all old cookies. */
function signed(key: Buffer, until: number, id: string): Buffer {
  return createHmac('sha256', key).update(`highkiq login ${until} ${id}`).digest()
}

function checkAuth(auth: Auth | undefined): void {
  if (auth === undefined || typeof auth === 'function') return
  const given: Record<string, unknown> = isObject(auth) ? auth : {}
  refuseUnknown('auth', given, ['bearer', 'basic'])
  const { bearer, basic } = given
  const bearers = bearer === undefined ? [] : isObject(bearer) ? Object.values(bearer) : [bearer].flat()
  const isText = (value: unknown) => typeof value === 'string' && value !== ''
  const isLogin = (value: unknown) =>
    isObject(value) && isText(value.user) && !String(value.user).includes(':') && isText(value.password)
  const isWhole = basic === undefined || isLogin(basic)
  if (bearers.every(isText) && isWhole && bearers.length + (basic ? 1 : 0) > 0) return
  throw invalidOption(
    "auth is { bearer: 'a long secret' } (or a list of them, or { name: 'a long secret' }), { basic: { user, password } }, both, or a function of the request; none of them empty, and no colon in user",
  )
}

/** Returns the token of a link that a request has: as a parameter, else as a bearer token. */
export function tokenOf(request: Request, url: URL): string | undefined {
  return url.searchParams.get('token') ?? bearerOf(request)
}

function bearerOf({ headers }: Request): string | undefined {
  return /^bearer\s+(\S.*)$/i.exec(headers.get('authorization') ?? '')?.[1]?.trimEnd()
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Compares in constant time. */
function oneOf(text: string, tokens: readonly Token[]): Token | undefined {
  const given = digest(text)
  let found: Token | undefined
  for (const token of tokens) if (timingSafeEqual(given, token.digest)) found = token
  return found
}

export function isChange({ method }: Pick<Request, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/**
 * Refuses a background request of a page of another site. The page can't read the answer, but its duration may tell what it
 * contains. Links of other sites still work.
 * @throws FORBIDDEN
 */
function checkCrossSite({ headers }: Request): void {
  if (headers.get('sec-fetch-site') !== 'cross-site' || headers.get('sec-fetch-dest') === 'document') return
  const message = 'this request comes from a page of another site (Sec-Fetch-Site): send a bearer token'
  throw new HighkiqError('FORBIDDEN', message, { problem: 'other-site' })
}

/** @throws FORBIDDEN when a page of another site sent the change, or may have sent it */
export function checkOrigin(request: Request, url: URL): void {
  const site = request.headers.get('sec-fetch-site')
  if (site === 'same-origin') return
  const origin = request.headers.get('origin')
  const host = request.headers.get('host') ?? url.host
  // Not the whole origin: a proxy may have removed the TLS.
  if (site === null && origin !== null && URL.canParse(origin) && new URL(origin).host === host) return
  if (site === null && origin === null && isLoopback(hostnameOf(host))) return
  const message =
    'a change must come from a page of this server, or carry a bearer token: Sec-Fetch-Site or Origin name another site'
  throw new HighkiqError('FORBIDDEN', message, { problem: 'other-site' })
}
