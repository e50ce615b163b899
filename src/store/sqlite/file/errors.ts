/** Makes errors of the file that say what to do. */

import { dirname, resolve } from 'node:path'
import { HighkiqError, messageOf } from '../../../job/errors.ts'
import { adviceOnFiles } from '../../../job/open-files.ts'
import { OLD_APPLICATION_ID, OLDEST_VERSION, SCHEMA_VERSION } from './schema-version.ts'

/** SQLite's result code for a full disk. */
export const FULL = 13

export function tooNew(path: string, version: number): HighkiqError {
  const message = `${path} was written by a newer Highkiq (schema ${version}, this one knows ${SCHEMA_VERSION}): update the package here and restart the process, or name another file`
  return new HighkiqError('STORE_UNUSABLE', message)
}

export function tooOld(path: string, version: number): HighkiqError {
  const message = `${path} was written before version 0.1 (schema ${version}, the oldest that can be migrated is ${OLDEST_VERSION}): name another file`
  return new HighkiqError('STORE_UNUSABLE', message)
}

export function versionLost(path: string, version: number, application: number): HighkiqError {
  const message = `${path} has tables of Highkiq 0.1, but another program has changed user_version (${version}) or application_id (${application}), from which their version is read: run "PRAGMA user_version = ${OLDEST_VERSION}; PRAGMA application_id = ${OLD_APPLICATION_ID}" and start again`
  return new HighkiqError('STORE_UNUSABLE', message)
}

export function dropped(path: string): HighkiqError {
  const message = `${path} no longer has Highkiq's tables, another program has dropped them: put back a copy of the file, or restart the process to begin without jobs`
  return new HighkiqError('STORE_UNUSABLE', message)
}

export function full(path: string, cause: unknown): HighkiqError {
  const message = `${path}: the disk is full, nothing was stored: free some space, and Highkiq continues by itself`
  return new HighkiqError('STORE_FULL', message, undefined, { cause })
}

export function unusable(path: string, code: number | undefined, cause: unknown): HighkiqError {
  // After a failed fsync the log may have the COMMIT, and SQLite restores it if all processes end now.
  const details = code === 10 ? { sent: true } : undefined
  return new HighkiqError('STORE_UNUSABLE', `${path}: ${advice(path, code, cause)}`, details, { cause })
}

/** Returns whether a failed write may have been stored. */
export function maybeDone({ details }: HighkiqError): boolean {
  return details?.sent === true
}

/** Returns an error of a push as one that says so. */
export function explainPush(path: string, thrown: unknown): unknown {
  if (thrown instanceof HighkiqError) return thrown
  const message = `${path}: SQLite refused to store this push (${messageOf(thrown)}): look for triggers and limits of this database`
  return new HighkiqError('STORE_UNUSABLE', message, undefined, { cause: thrown })
}

function advice(path: string, code: number | undefined, cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause)
  if (code === 26) return 'this file is not a database: name another file, or move it away to begin a new one'
  if (code === 11) {
    return `the database file is damaged: stop all processes, keep a copy, and try "sqlite3 ${path} .recover"`
  }
  if (code === 8) return 'the file or its folder is read-only: give this user the right to write to both'
  if (code === 10) return `the disk reports an error (${text}): check it before you continue`
  if (code === 5) return 'another program keeps this file locked: close it, or name another file'
  // libsql reports a failed open only in its message, with SQLite's code 14 at the end.
  if (code === 14 || /unable to open/i.test(text)) {
    const otherwise = `can't be opened: see that ${dirname(resolve(path))} exists and that this user may write to it`
    return adviceOnFiles(cause) ?? otherwise
  }
  return `the database can't be used (${text})`
}
