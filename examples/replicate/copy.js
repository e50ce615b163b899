// The copy that is to be kept in step: products in a SQLite file. Each step takes a while, as if it were far away.
import { setTimeout as sleep } from 'node:timers/promises'

const { DatabaseSync: Database } = await import('node:sqlite').catch(async () => {
  // Node 20 has none of its own.
  const { default: DatabaseSync } = await import('libsql')
  return { DatabaseSync }
})

export class Copy {
  #path
  #open

  constructor(path) {
    this.#path = path
  }

  /** Who only pushes has no use for it. */
  get #db() {
    if (this.#open) return this.#open
    this.#open = new Database(this.#path)
    this.#open.exec(
      'CREATE TABLE IF NOT EXISTS product (id TEXT PRIMARY KEY, version INTEGER, price REAL, writes INTEGER DEFAULT 1)',
    )
    return this.#open
  }

  async versionOf(id) {
    await away(5)
    return this.#db.prepare('SELECT version FROM product WHERE id = ?').get(id)?.version ?? 0
  }

  async write({ id, version, price }) {
    await away(60)
    this.#db
      .prepare(
        `INSERT INTO product (id, version, price) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE
         SET version = excluded.version, price = excluded.price, writes = writes + 1`,
      )
      .run(id, version, price)
  }

  all() {
    return this.#db.prepare('SELECT id, version, price FROM product ORDER BY id').all()
  }

  get writes() {
    return this.#db.prepare('SELECT sum(writes) AS n FROM product').get().n
  }

  close() {
    this.#open?.close()
  }
}

const away = (ms) => sleep(1 + Math.random() * ms)
