/** The audit: one entry for each change. */

import type { Highkiq } from '../../app.ts'
import { codeOf, invalidOption, statusOfCode } from '../../job/errors.ts'
import type { LoginEvent } from './logins.ts'

export interface AuditEntry {
  at: Date
  /** The name of the login; without one `bearer`, `app`, `link` or `loopback`. */
  who: string
  /** The route: `POST /api/v1/retries/{jid}/kill`; or `login`, `login refused`. */
  action: string
  /** The members of the route's path: `{ jid: '…' }`. Of a push the class, and of a single job also its queue and jid. */
  target: Record<string, string>
  /** The number of jobs or rows; null where they are not counted. */
  count: number | null
  /** Further details, such as the jobs or the filter. `incomplete: true` when the action ended early, or may not have been done. */
  details: Record<string, unknown>
}

/** `true` writes entries to the log of the app; a function receives each entry. */
export type Audit = boolean | ((entry: AuditEntry) => void)

/** The part of an entry that the route knows: the count, a target that its path does not name, and any further details. */
export interface AuditDetails {
  count?: number
  target?: AuditEntry['target']
  [detail: string]: unknown
}

/** An entry names at most this many jobs or classes. */
export const MOST_NAMED = 100

export type Auditor = ReturnType<typeof auditorOf>

/** @throws INVALID_OPTION */
export function auditorOf(hq: Highkiq, audit: Audit = false) {
  if (typeof audit !== 'boolean' && typeof audit !== 'function') {
    throw invalidOption(`audit must be true, false or a function (got ${typeof audit})`)
  }
  /** Never throws, since the change has been made. */
  const write = (about: Pick<AuditEntry, 'who' | 'action' | 'target'>, known: AuditDetails): void => {
    if (audit === false) return
    const { count = null, target = about.target, ...details } = known
    const entry = { at: new Date(hq.now()), ...about, target, count, details }
    try {
      if (typeof audit === 'function') audit(entry)
      else hq.log.info({ audit: entry }, `${about.who}: ${about.action}`)
    } catch (thrown) {
      hq.log.error({ err: thrown, audit: entry }, 'the audit threw')
    }
  }
  return {
    write,
    /** Records a login, right or wrong. The log warns about repeated wrong ones even without an audit. */
    login({ who, ...about }: LoginEvent): void {
      write({ who: who ?? 'anybody', action: who === null ? 'login refused' : 'login', target: {} }, { ...about })
      if (about.refusedFor !== undefined)
        hq.log.warn(about, 'too many wrong logins: further logins are refused for a while')
    },
  }
}

/**
 * The entry of one request. The route adds details to it while it works, and it is written when the request ends.
 * @param auditor undefined for a request that is not recorded
 */
export function pendingEntry(auditor: Auditor | undefined, about: Pick<AuditEntry, 'who' | 'action' | 'target'>) {
  const details: AuditDetails = {}
  let isDeferred = false
  const write = () => auditor?.write(about, details)
  return {
    add: (more: AuditDetails): void => void Object.assign(details, more),
    /** Leaves the writing to the function that is returned, for a route whose work goes on after its answer begins. */
    defer(): () => void {
      isDeferred = true
      return write
    },
    succeed(): void {
      if (!isDeferred) write()
    },
    /**
     * Writes the entry of a request that failed, if it changed something before that, or may have: after a failure of the
     * server or of its store nobody knows.
     */
    fail(thrown: unknown): void {
      const isRefused = statusOfCode(codeOf(thrown) ?? 'INTERNAL_ERROR') < 500
      if (isDeferred || (isRefused && !details.count)) return
      details.incomplete = true
      write()
    },
  }
}

/** Returns the ids of jobs for an entry, cut to a reasonable number and length. */
export function named(jids: readonly string[]): string[] {
  return jids.slice(0, MOST_NAMED).map((jid) => jid.slice(0, 100))
}
