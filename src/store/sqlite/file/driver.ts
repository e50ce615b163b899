/**
 * What Highkiq needs of a SQLite driver. There are two drivers: `node:sqlite`, part of Node from 22.13 on, and `libsql`
 * for Node 20.
 */

import type { SqlConnection } from '../../contract.ts'

export type Value = string | number | bigint | Uint8Array | null

export interface Statement {
  /** Runs the statement, and returns the number of rows it has changed. */
  run(...values: Value[]): { changes: number | bigint }
  /** Returns rows as objects by column name. */
  all(...values: Value[]): unknown[]
  /** Returns the first row. This takes half the time of `all`. */
  get(...values: Value[]): unknown
}

export interface Driver {
  readonly name: string
  /**
   * The connection for statements of the app: the driver's own object, or with libsql one that also ends statements whose rows
   * are not all read.
   */
  readonly connection: SqlConnection
  /**
   * Runs several statements without parameters. BEGIN and COMMIT go through it: with libsql, a prepared BEGIN that found the
   * file locked would show later reads an old state of the file.
   */
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
  /** Returns SQLite's primary result code of an error of this driver (5 = BUSY, 13 = FULL, …); undefined: it has none. */
  resultCode(thrown: unknown): number | undefined
}

export type DriverName = 'node' | 'libsql'

const BUSY_CODES = new Set([5, 6, 15])

/** Returns whether an error says that the file is locked: BUSY, LOCKED or PROTOCOL. */
export function isBusy(driver: Driver, thrown: unknown): boolean {
  const code = driver.resultCode(thrown)
  return code !== undefined && BUSY_CODES.has(code)
}
