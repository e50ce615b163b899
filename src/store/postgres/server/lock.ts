/**
 * The advisory locks of a schema. Each is a number that JavaScript and PostgreSQL both have as a whole number. The number behind
 * that of the writers is the lock of `hk.sum_changes` (functions.sql).
 */

import { createHash } from 'node:crypto'

/** Returns the lock of the writers. */
export function writerLockOf(schema: string): number {
  return createHash('sha1').update(`highkiq ${schema}`).digest().readUIntBE(0, 6)
}

/** Returns the lock of a migration that runs outside of a transaction. */
export function migrationLockOf(schema: string): number {
  return writerLockOf(schema) + 2
}
