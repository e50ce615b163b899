/** The audit: one entry for each change. */

import type { Highkiq } from '../../app.ts'
import { HighkiqError } from '../../job/errors.ts'
import type { LoginEvent } from './logins.ts'

export interface AuditEntry {
  at: Date
  /** The name of the login; without one `bearer`, `app`, `link` or `loopback`. */
  who: string
  /** The route: `POST /api/v1/retries/{jid}/kill`; or `login`, `login refused`. */
  action: string
  /** The members of the route's path: `{ jid: '…' }`. */
  target: Record<string, string>
  /** The number of jobs or rows; null where they are not counted. */
  count: number | null
  /** Further details, such as the jobs or the filter. `incomplete: true` when the action ended early. */
  details: Record<string, unknown>
}

/** `true` writes entries to the log of the app; a function receives each entry. */
export type Audit = boolean | ((entry: AuditEntry) => void)

/** The part of an entry that the route knows: the count, and any further details. */
export interface AuditDetails {
  count?: number
  [detail: string]: unknown
}

const MOST_NAMED = 100

export class Auditor {
  readonly #hq: Highkiq
  readonly #audit: Audit

  /** @throws INVALID_OPTION */
  constructor(hq: Highkiq, audit: Audit = false) {
    if (typeof audit !== 'boolean' && typeof audit !== 'function') {
      throw new HighkiqError('INVALID_OPTION', `audit must be true, false or a function (got ${typeof audit})`)
    }
    this.#hq = hq
    this.#audit = audit
  }

  /** Records a login, right or wrong. The log warns about repeated wrong ones even without an audit. */
  login({ who, ...about }: LoginEvent): void {
    this.write({ who: who ?? 'anybody', action: who === null ? 'login refused' : 'login', target: {} }, { ...about })
    if (about.refusedFor !== undefined)
      this.#hq.log.warn(about, 'too many wrong logins: further logins are refused for a while')
  }

  /** Never throws, since the change has been made. */
  write(about: Pick<AuditEntry, 'who' | 'action' | 'target'>, { count, ...details }: AuditDetails): void {
    const audit = this.#audit
    if (audit === false) return
    const entry = { at: new Date(this.#hq.now()), ...about, count: count ?? null, details }
    try {
      if (typeof audit === 'function') audit(entry)
      else this.#hq.log.info({ audit: entry }, `${about.who}: ${about.action}`)
    } catch (thrown) {
      this.#hq.log.error({ err: thrown, audit: entry }, 'the audit threw')
    }
  }
}

/** The entry of one request. The route adds details to it while it works, and it is written when the request ends. */
export class PendingEntry {
  readonly #auditor: Auditor | undefined
  readonly #about: Pick<AuditEntry, 'who' | 'action' | 'target'>
  readonly #details: AuditDetails = {}
  #isDeferred = false

  /** @param auditor undefined for a request that is not recorded */
  constructor(auditor: Auditor | undefined, about: Pick<AuditEntry, 'who' | 'action' | 'target'>) {
    this.#auditor = auditor
    this.#about = about
  }

  readonly add = (details: AuditDetails): void => void Object.assign(this.#details, details)

  /** Leaves the writing to the function that is returned, for a route whose work goes on after its answer begins. */
  readonly defer = (): (() => void) => {
    this.#isDeferred = true
    return () => this.#write()
  }

  succeed(): void {
    if (!this.#isDeferred) this.#write()
  }

  /** Writes the entry of a request that failed, if it changed something before that. */
  fail(): void {
    if (this.#isDeferred || !this.#details.count) return
    this.#details.incomplete = true
    this.#write()
  }

  #write(): void {
    this.#auditor?.write(this.#about, this.#details)
  }
}

/** Returns the ids of jobs for an entry, cut to a reasonable number and length. */
export function named(jids: readonly string[]): string[] {
  return jids.slice(0, MOST_NAMED).map((jid) => jid.slice(0, 100))
}
