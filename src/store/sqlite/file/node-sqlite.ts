/** The driver that Node has built in: `node:sqlite`. */

import { importUnbundled } from '../../../load/package.ts'
import type { SqlConnection } from '../../contract.ts'
import type { Driver, Statement } from './driver.ts'

/** SQLite's messages for errors of statements that begin or end a transaction, or set up the connection. */
const CODES_BY_MESSAGE: Record<string, number> = {
  'database is locked': 5,
  'database table is locked': 6,
  'attempt to write a readonly database': 8,
  'disk I/O error': 10,
  'database disk image is malformed': 11,
  'database or disk is full': 13,
  'unable to open database file': 14,
  'locking protocol': 15,
  'file is not a database': 26,
}

export async function openNodeSqlite(path: string): Promise<Driver> {
  const { DatabaseSync } = (await withoutExperimentalWarning(() => importUnbundled('node:sqlite'))) as {
    DatabaseSync: new (path: string) => { exec(sql: string): void; prepare(sql: string): Statement; close(): void }
  }
  const db = new DatabaseSync(path)
  return {
    name: 'node:sqlite',
    connection: db as unknown as SqlConnection,
    exec: (sql) => db.exec(sql),
    prepare: (sql) => db.prepare(sql),
    close: () => db.close(),
    resultCode: (thrown) => {
      const { errcode, code, message = '' } = (thrown ?? {}) as { errcode?: unknown; code?: unknown; message?: string }
      if (typeof errcode === 'number') return errcode & 0xff
      // An error of `exec` on Deno has only the message.
      return code === 'ERR_SQLITE_ERROR' ? CODES_BY_MESSAGE[message] : undefined
    },
  }
}

/** Suppresses the warning of Node 22 to 24 that `node:sqlite` is experimental, about which a user can do nothing. */
async function withoutExperimentalWarning<T>(load: () => Promise<T>): Promise<T> {
  const emit = process.emitWarning
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite is an experimental feature')) return
    return (emit as (...all: unknown[]) => void).call(process, warning, ...rest)
  }) as typeof process.emitWarning
  try {
    return await load()
  } finally {
    process.emitWarning = emit
  }
}
