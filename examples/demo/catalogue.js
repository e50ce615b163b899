/** The catalogue into which the demo imports: a SQLite file of its own. */

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

/** Adds a product if its SKU is free, and returns the job that has the SKU now: one step, so that two jobs can't both add. */
const ADD = `
  INSERT INTO product (sku, name, category, price_cents, currency, stock, available_from, ean, description, jid)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (sku) DO UPDATE SET jid = jid
  RETURNING jid, name`

export class Catalogue {
  #db
  #add
  #addRow

  constructor(db) {
    this.#db = db
    db.exec(SCHEMA)
    this.#add = db.prepare(ADD)
    this.#addRow = db.prepare('INSERT INTO "row" (jid, content) VALUES (?, ?) ON CONFLICT DO NOTHING')
  }

  static async open(path) {
    // Node 20 has no SQLite of its own.
    const { DatabaseSync } = await import('node:sqlite').catch(async () => ({
      DatabaseSync: (await import('libsql')).default,
    }))
    const db = new DatabaseSync(path)
    try {
      return new Catalogue(db)
    } catch (thrown) {
      db.close()
      throw thrown
    }
  }

  /**
   * Adds a product unless its SKU is in use, and returns the job and the name of the product that has the SKU now. The
   * product keeps its job's id, so that a job that runs again after a crash is not a duplicate of itself.
   */
  add(product, jid) {
    const { sku, name, category, priceCents, currency, stock, availableFrom, ean, description } = product
    const rows = this.#add.all(sku, name, category, priceCents, currency, stock, availableFrom, ean, description, jid)
    return rows[0]
  }

  /** Keeps a row as it is. A job that runs twice keeps it once. */
  addRow(row, jid) {
    this.#addRow.run(jid, JSON.stringify(row))
  }

  /** Closes the file with everything in it, so that it can be copied. */
  close() {
    this.#db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    this.#db.close()
  }
}
