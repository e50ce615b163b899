/**
 * Links for submitters. Each opens one task, or the list of the tasks with one `meta`, with its own rights, and needs no
 * login.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AppPort } from '../app/port.ts'
import { type Duration, dueAt } from '../job/duration.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import { checkOptions, shown } from '../job/options.ts'
import type { Store } from '../store/contract.ts'
import { checkMetaFilter, labelsOf } from './meta.ts'
import { findTask, retryTransient } from './rows.ts'

/** `change` is the submitter's own link; a link with `read` is read-only. */
export const LINK_RIGHTS = ['change', 'read'] as const
export type LinkRights = (typeof LINK_RIGHTS)[number]

export interface LinkOptions {
  /** When the link ends: a Date, or seconds or a string such as `'7d'` from now. Default: with the task. */
  expires?: number | Duration | Date
  /** `change` (default): the submitter may cancel the task and send a corrected report. `read`: read-only. */
  rights?: LinkRights
}

/** The subject that a link opens: a task, or the list of the tasks with these values in their `meta`. */
export type LinkSubject = { task: string } | { meta: Readonly<Record<string, string>> }

/** A link that was opened. */
export interface OpenedLink {
  rights: LinkRights
  /** A server with `redact` made it, for a caller from whom that server hides values. */
  isRedacted: boolean
  /** Identifies the person who got the link: the same for a list and for the tasks that it shows. */
  holder: string
}

/** The rights of a new link, and its end in seconds since the epoch. */
export interface NewLink extends Pick<OpenedLink, 'rights' | 'isRedacted'> {
  until: number | undefined
}

export type Links = ReturnType<typeof linksOf>

/** Returns the name of a list of tasks. */
export function listOf(meta: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(meta)
  search.sort()
  return String(search)
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
  // The app's own code sees all values.
  const token = await linksOf(app, () => linkSecret(app)).taskToken(id, { rights, until, isRedacted: false })
  return `${publicUrl.replace(/\/+$/, '')}/tasks/${id}?token=${token}`
}

/** Returns when a link ends, in seconds since the epoch; undefined for one that has no end. @throws INVALID_OPTION */
export function linkEnd(what: string, expires: LinkOptions['expires'], now: number): number | undefined {
  if (expires === undefined) return undefined
  const until = Math.floor(dueAt(expires, now))
  if (until * 1000 > now) return until
  throw invalidOption(`${what}: expires must be in the future (got ${shown(expires)})`, { problem: 'in-the-past' })
}

/** Returns the end that a token names, in seconds since the epoch. It does not check the token. */
export function endOfToken(token: string): number | undefined {
  return readToken(token)?.until
}

/** Ends all links to a list of tasks. @throws INVALID_OPTION */
export async function revokeListLinks({ store }: AppPort, meta: unknown): Promise<void> {
  checkMetaFilter('tasks.revokeLinks', meta)
  await retryTransient(() => store.results.raiseLinkVersion(listOf(labelsOf(meta))))
}

/** The content of a token. All of it is signed, with the subject. */
interface Claims extends NewLink {
  /** How often the links of the subject had been revoked. */
  version: number
  /** For a task that a list shows: the list, and the version of its links. The link ends with them. */
  from?: { list: string; version: number } | undefined
  /** The word for the rights `read`, if it is that of version 0.1. */
  readWord?: 'look'
}

/** The part of an app that links need. The store is opened when the first link is used. */
type LinkStore = Pick<AppPort, 'now'> & { readonly store: Pick<Store, 'tasks' | 'results'> }

/** The parts of a token. All are optional except the signature. */
const TOKEN =
  /^(?:(read|look)\.)?(redacted\.)?(?:v(\d{1,15})\.)?(?:l(\d{1,15})-([\w-]*)\.)?(?:(\d{1,13})\.)?([\w-]{43})$/

function readToken(token: string): (Claims & { signature: string }) | undefined {
  const [, read, redacted, version = 0, listVersion, encoded = '', seconds, signature] = TOKEN.exec(token) ?? []
  if (signature === undefined) return undefined
  const list = Buffer.from(encoded, 'base64url').toString()
  // With a space in it, the name of a list could add claims to the signed text.
  if (/\s/.test(list)) return undefined
  return {
    rights: read ? 'read' : 'change',
    ...(read === 'look' && { readWord: 'look' }),
    isRedacted: redacted !== undefined,
    version: Number(version),
    until: seconds === undefined ? undefined : Number(seconds),
    from: listVersion === undefined ? undefined : { list, version: Number(listVersion) },
    signature,
  }
}

function writeToken({ rights, isRedacted, version, from, until }: Claims, signature: string): string {
  return [
    ...(rights === 'read' ? ['read'] : []),
    ...(isRedacted ? ['redacted'] : []),
    ...(version === 0 ? [] : [`v${version}`]),
    ...(from ? [`l${from.version}-${Buffer.from(from.list).toString('base64url')}`] : []),
    ...(until === undefined ? [] : [until]),
    signature,
  ].join('.')
}

/** Returns the text that is signed. No other claims give the same text, because the name of a list has no spaces. */
function signedText(subject: LinkSubject, { rights, readWord, isRedacted, version, from, until }: Claims): string {
  return [
    'task' in subject ? `highkiq task ${subject.task}` : `highkiq tasks ${listOf(subject.meta)}`,
    ...(rights === 'read' ? [readWord ?? 'read'] : []),
    ...(isRedacted ? ['redacted'] : []),
    ...(version === 0 ? [] : [`version ${version}`]),
    ...(from ? [`from ${from.list} ${from.version}`] : []),
    ...(until === undefined ? [] : [`until ${until}`]),
  ].join(' ')
}

export function linksOf(app: LinkStore, secret: () => Promise<string>) {
  const sign = async (subject: LinkSubject, claims: Claims) =>
    createHmac('sha256', await secret())
      .update(signedText(subject, claims))
      .digest()
  const token = async (subject: LinkSubject, claims: Claims) =>
    writeToken(claims, (await sign(subject, claims)).toString('base64url'))
  const listVersion = (list: string) => app.store.results.linkVersion(list)
  /** @throws UNKNOWN_TASK */
  const versionOf = async (subject: LinkSubject) =>
    'task' in subject ? (await findTask(app, subject.task)).linkVersion : listVersion(listOf(subject.meta))
  return {
    /** @throws UNKNOWN_TASK */
    async taskToken(task: string, link: NewLink): Promise<string> {
      return token({ task }, { ...link, version: await versionOf({ task }) })
    },
    async metaToken(meta: Readonly<Record<string, string>>, link: NewLink): Promise<string> {
      return token({ meta }, { ...link, version: await versionOf({ meta }) })
    },
    /** Returns a token for a task in a list. It ends with `by`, the token of the list, and hides the same values. */
    async listedTaskToken(
      task: string,
      meta: Readonly<Record<string, string>>,
      { rights, by }: { rights: LinkRights; by: string },
    ): Promise<string> {
      const { until, isRedacted = false, version = 0 } = readToken(by) ?? {}
      const from = { list: listOf(meta), version }
      return token({ task }, { rights, isRedacted, version: await versionOf({ task }), from, until })
    },
    /**
     * Returns the link of a token; undefined when it does not open the subject.
     * @throws UNAUTHORIZED when it has expired or was revoked; UNKNOWN_TASK
     */
    async opens(subject: LinkSubject, token: string): Promise<OpenedLink | undefined> {
      const claims = readToken(token)
      if (!claims) return undefined
      const { rights, isRedacted, version, from, until, signature } = claims
      if (!timingSafeEqual(Buffer.from(signature, 'base64url'), await sign(subject, claims))) return undefined
      if (until !== undefined && until * 1000 <= app.now()) {
        const end = new Date(until * 1000).toISOString()
        throw new HighkiqError('UNAUTHORIZED', `this link expired at ${end}: request a new link`)
      }
      const isCurrent = version === (await versionOf(subject))
      if (isCurrent && (!from || from.version === (await listVersion(from.list)))) {
        const ofTask = 'task' in subject && !from ? `task ${subject.task}` : undefined
        const list = 'task' in subject ? from?.list : listOf(subject.meta)
        return { rights, isRedacted, holder: ofTask ?? `list ${list}` }
      }
      throw new HighkiqError('UNAUTHORIZED', 'this link was revoked: request a new link')
    },
  }
}
