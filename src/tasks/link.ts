/**
 * Links for submitters. Each opens one task, or the list of the tasks with one `meta`, with its own rights, and needs no
 * login.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AppPort } from '../app/port.ts'
import { type Duration, dueAt } from '../job/duration.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { checkOptions, shown } from '../job/options.ts'

/** `change` is the submitter's own link; a link with `read` is read-only. */
export const LINK_RIGHTS = ['change', 'read'] as const
export type LinkRights = (typeof LINK_RIGHTS)[number]

export interface LinkOptions {
  /** When the link ends: a Date, or seconds or a string such as `'7d'` from now. Default: with the task. */
  expires?: number | Duration | Date
  /** `change` (default): the submitter may cancel the task and send a corrected report. `read`: only look. */
  rights?: LinkRights
}

/** The first characters of a token, and the text that is signed after its subject. */
const PREFIX: Record<LinkRights, string> = { change: '', read: 'look.' }
const SIGNED: Record<LinkRights, string> = { change: '', read: ' look' }

export type Links = ReturnType<typeof linksOf>

/** Returns the subject of a link that opens one task. */
export function taskSubject(id: string): string {
  return `task ${id}`
}

/** Returns the subject of a link that opens the list of the tasks with these values in their `meta`. */
export function metaSubject(meta: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(meta)
  search.sort()
  return `tasks ${search}`
}

/** Returns the secret that signs the links of an app: its option, or a text that the store keeps. */
export async function linkSecret({ settings, store }: Pick<AppPort, 'settings' | 'store'>): Promise<string> {
  return settings.secret ?? store.results.secret('links', randomBytes(32).toString('base64url'))
}

/** @throws INVALID_OPTION */
export async function linkOf(app: AppPort, id: string, options: LinkOptions): Promise<string> {
  checkOptions('task.link', options, { expires: null, rights: LINK_RIGHTS })
  const { expires, rights = 'change' } = options
  const { publicUrl } = app.settings
  if (publicUrl === undefined) {
    const message =
      "task.link: the app does not know where its dashboard is: set publicUrl, for example new Highkiq({ publicUrl: 'https://shop.example/jobs' })"
    throw invalidOption(message)
  }
  const until = linkEnd('task.link', expires, app.now())
  const token = await linksOf(() => linkSecret(app), app.now).taskToken(id, rights, until)
  return `${publicUrl.replace(/\/+$/, '')}/tasks/${id}?token=${token}`
}

/** Returns when a link ends, in seconds since the epoch; undefined for one that has no end. @throws INVALID_OPTION */
export function linkEnd(what: string, expires: LinkOptions['expires'], now: number): number | undefined {
  if (expires === undefined) return undefined
  const until = Math.floor(dueAt(expires, now))
  if (until * 1000 > now) return until
  throw invalidOption(`${what}: expires must be in the future (got ${shown(expires)})`)
}

/** Returns the end that a token names, in seconds since the epoch. It does not check the token. */
export function endOfToken(token: string): number | undefined {
  const [, , seconds] = TOKEN.exec(token) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

/** A token: its rights, the seconds since the epoch at which it ends, and the signature of both and of the subject. */
const TOKEN = /^(look\.)?(?:(\d{1,13})\.)?([\w-]{43})$/

export function linksOf(secret: () => Promise<string>, now: () => number) {
  const sign = async (subject: string, rights: LinkRights, until?: number) =>
    createHmac('sha256', await secret())
      .update(`highkiq ${subject}${SIGNED[rights]}${until === undefined ? '' : ` until ${until}`}`)
      .digest()
  const token = async (subject: string, rights: LinkRights, until?: number) => {
    const signature = (await sign(subject, rights, until)).toString('base64url')
    return `${PREFIX[rights]}${until === undefined ? '' : `${until}.`}${signature}`
  }
  return {
    /** Each returns a token that ends at `until`, in seconds since the epoch. */
    taskToken: (id: string, rights: LinkRights, until?: number) => token(taskSubject(id), rights, until),
    metaToken: (meta: Readonly<Record<string, string>>, rights: LinkRights, until?: number) =>
      token(metaSubject(meta), rights, until),
    /**
     * Returns the rights that the token gives; undefined when it does not open the subject.
     * @throws UNAUTHORIZED when it has expired
     */
    async opens(subject: string, token: string): Promise<LinkRights | undefined> {
      const [, read, seconds, signature] = TOKEN.exec(token) ?? []
      if (signature === undefined) return undefined
      const rights = read ? 'read' : 'change'
      const until = seconds === undefined ? undefined : Number(seconds)
      const given = Buffer.from(signature, 'base64url')
      if (!timingSafeEqual(given, await sign(subject, rights, until))) return undefined
      if (until === undefined || until * 1000 > now()) return rights
      const end = new Date(until * 1000).toISOString()
      throw new HighkiqError('UNAUTHORIZED', `this link expired at ${end}: request a new link`)
    },
  }
}
