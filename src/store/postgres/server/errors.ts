/** Errors of the server and of the connection, as ones that say what to do. */

import { HighkiqError, messageOf, PushError } from '../../../job/errors.ts'
import { adviceOnFiles } from '../../../job/open-files.ts'
import { SCHEMA_VERSION } from './schema-version.ts'

interface PgError extends Error {
  /** The SQLSTATE of the server, or the code of the system for the connection. */
  code?: string
  severity?: string
}

/** The transaction may be run again: a serialization failure, a deadlock, or a lock that was not free in time. */
const REPEATABLE = new Set(['40001', '40P01', '55P03'])
/** The server ended the connection: shutdown, crash, not yet started, or an administrator or a time limit ended it. */
const ENDED = new Set(['57P01', '57P02', '57P03', '57P05', '25P03', '25P04'])
/** The server or the transaction takes no writes. */
const READ_ONLY = '25006'
/** Settings of the server or rights of the user keep Highkiq from working. */
const UNUSABLE = new Set(['28000', '28P01', '3D000', '42501', '53300', READ_ONLY])
/** A schema, a table, a column or a function is not there. */
const SCHEMA = new Set(['3F000', '42P01', '42703', '42883'])
/** The disk is full, or memory is. */
const FULL = new Set(['53100', '53200'])

/** The codes of Node for a certificate that it does not accept. */
const CERTIFICATE = /CERT|ISSUER|_SIGNATURE/

/** Returns whether a lock was not free in time. */
export function isLockTimeout(thrown: unknown): boolean {
  return (thrown as PgError)?.code === '55P03'
}

/** Returns whether a schema, a table, a column or a function is not there. */
export function isSchemaMissing(thrown: unknown): boolean {
  return SCHEMA.has((thrown as PgError)?.code ?? '')
}

export function isRepeatable(thrown: unknown): boolean {
  return REPEATABLE.has((thrown as PgError)?.code ?? '')
}

/** Returns whether the connection is lost: if that was at a COMMIT, the transaction may have been committed. */
export function isLost(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || thrown instanceof HighkiqError) return false
  const { severity, code } = thrown as PgError
  if (severity !== undefined)
    return severity === 'FATAL' || severity === 'PANIC' || /^08/.test(code ?? '') || ENDED.has(code ?? '')
  // The driver has no code for a connection that was ended, or for an answer that did not come in time.
  return /^E[A-Z_]+$/.test(code ?? '') || /connection|timeout/i.test(thrown.message)
}

/**
 * Returns whether the connection must be ended: it is lost, or its server takes no writes, as the former primary after a
 * failover. Another connection may reach the new primary.
 */
export function endsConnection(thrown: unknown): boolean {
  return isLost(thrown) || (thrown as PgError)?.code === READ_ONLY
}

/** Returns an error of the server or the connection as one that says what to do; any other error as it is. */
export function explain(url: string, thrown: unknown): unknown {
  if (thrown instanceof HighkiqError || !(thrown instanceof Error)) return thrown
  const { code = '' } = thrown as PgError
  const of = (name: 'STORE_FULL' | 'STORE_UNUSABLE' | 'STORE_UNREACHABLE' | 'STORE_TIMEOUT', advice: string) =>
    new HighkiqError(name, `${url}: ${messageOf(thrown)}: ${advice}`, undefined, { cause: thrown })
  if (FULL.has(code)) return of('STORE_FULL', 'nothing was stored: free space on the server')
  if (code === '53300')
    return of('STORE_UNREACHABLE', 'raise max_connections, lower connections in the URL, or use PgBouncer')
  if (SCHEMA.has(code))
    return of(
      'STORE_UNUSABLE',
      'the schema was dropped, or migrated by another version: update Highkiq, and restart the process',
    )
  if (UNUSABLE.has(code)) return of('STORE_UNUSABLE', 'check the URL, and the rights of the user (docs/postgres.md)')
  if (CERTIFICATE.test(code) || /does not support SSL/.test(thrown.message))
    return of('STORE_UNUSABLE', 'check sslmode and sslrootcert in the URL (docs/postgres.md)')
  if (code === '57014' || code === '55P03')
    return of('STORE_TIMEOUT', 'another transaction keeps a lock of Highkiq: see pg_stat_activity')
  if (isLost(thrown))
    return of('STORE_UNREACHABLE', adviceOnFiles(thrown) ?? 'check that the server runs and can be reached')
  return thrown
}

/**
 * Returns an error of the server about what a push stores as one that says so. It concerns only that statement, of which nothing
 * is stored. Any other error is returned as it is.
 */
export function explainPush(url: string, thrown: unknown): unknown {
  if (!(thrown instanceof Error) || (thrown as PgError).severity === undefined) return thrown
  const message = `${url}: the server refused to store this push (${thrown.message}): see the statement in its log`
  return new HighkiqError('STORE_UNUSABLE', message, undefined, { cause: thrown })
}

/** Returns the error of a push in one write, whose jobs have these ids. */
export function pushFailed(url: string, thrown: unknown, jids: string[] = []): unknown {
  const error = explainPush(url, thrown)
  if (!(error instanceof HighkiqError)) return error
  return new PushError(error.message, jids, isMaybeStored(error), { cause: error })
}

/** An error whose transaction may have been committed, because the answer to the COMMIT was lost. */
const MAYBE_STORED = new WeakSet<object>()

export function noteMaybeStored(error: unknown): void {
  if (error instanceof HighkiqError) MAYBE_STORED.add(error)
}

export function isMaybeStored(error: unknown): boolean {
  return typeof error === 'object' && error !== null && MAYBE_STORED.has(error)
}

export function tooNew(url: string, schema: string, version: number): HighkiqError {
  return new HighkiqError(
    'STORE_UNUSABLE',
    `${url}: the schema ${schema} was written by a newer Highkiq (version ${version}, this one knows ${SCHEMA_VERSION}): update the package here and restart the process, or name another schema`,
  )
}

export function closedError(url: string): HighkiqError {
  return new HighkiqError('STORE_CLOSED', `the store ${url} is closed`)
}
