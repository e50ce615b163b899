/** Where the demo's products go: a SQLite file of its own. */

import { type Driver, openDriver, type Statement } from '../../store/sqlite/file/driver.ts'
import type { Product } from './product.ts'

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS product (
    sku TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    category TEXT,
    price_cents INTEGER NOT NULL,
    currency TEXT,
    stock INTEGER,
    available_from TEXT,
    ean TEXT,
    description TEXT,
    jid TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS "row" (jid TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT;
`

/** Whether the SKU is free is decided in the same step that takes it; it answers who has it now. */
const ADD = `
  INSERT INTO product (sku, name, category, price_cents, currency, stock, available_from, ean, description, jid)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (sku) DO UPDATE SET jid = jid
  RETURNING jid, name`

export class Catalogue {
  readonly #db: Driver
  readonly #add: Statement
  readonly #addRow: Statement

  private constructor(db: Driver) {
    this.#db = db
    db.exec(SCHEMA)
    this.#add = db.prepare(ADD)
    this.#addRow = db.prepare('INSERT INTO "row" (jid, content) VALUES (?, ?) ON CONFLICT DO NOTHING')
  }

  static async open(path: string): Promise<Catalogue> {
    const db = await openDriver(path)
    try {
      return new Catalogue(db)
    } catch (thrown) {
      db.close()
      throw thrown
    }
  }

  /**
   * Adds a product unless its SKU is taken. The job's id is kept with it, so that a job which runs again because its
   * process died is not taken for a duplicate of itself.
   * @returns the job whose product has the SKU now, and that product's name
   */
  add(product: Product, jid: string): { jid: string; name: string } {
    const { sku, name, category, priceCents, currency, stock, availableFrom, ean, description } = product
    const rows = this.#add.all(
      sku,
      name,
      category,
      priceCents,
      currency,
      stock,
      availableFrom,
      ean,
      description,
      jid,
    ) as { jid: string; name: string }[]
    return rows[0] as { jid: string; name: string }
  }

  /** Keeps any row as it is; once, however often its job runs. */
  addRow(row: Record<string, unknown>, jid: string): void {
    this.#addRow.run(jid, JSON.stringify(row))
  }

  /** Leaves everything in the one file, for whoever copies it. */
  close(): void {
    this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    this.#db.close()
  }
}
