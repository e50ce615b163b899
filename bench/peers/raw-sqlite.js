// Raw commands on SQLite: prepared statements in the same driver, with the same durability. A transaction deletes the
// jobs that are done and claims the next ones; a claimed row stays in the table until it is done.
import { isBuiltin } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { versionOf } from '../core/install.js'
import { runAll } from '../core/roles.js'

/** The most jobs of a transaction: as many as a call of Highkiq settles and fetches. */
const BATCH = 200

const home = new URL('../..', import.meta.url).pathname
const OPEN = {
  libsql: async (path) => new (await import('libsql')).default(path),
  node: async (path) => new (await import('node:sqlite')).DatabaseSync(path),
}
const AVAILABLE = {
  libsql: () => (versionOf('libsql', home) ? undefined : 'the package libsql is not installed'),
  node: () => (isBuiltin('node:sqlite') ? undefined : 'this Node has no node:sqlite (22.13 and newer have)'),
}

function raw(name, title, order, driver, synchronous) {
  async function open(url) {
    const db = await OPEN[driver](url)
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA busy_timeout = 5000`)
    db.exec(
      'CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL)',
    )
    return db
  }
  return {
    name,
    title,
    order,
    store: 'sqlite',
    isRaw: true,
    isFast: true,
    lacks: ['delays', 'latency', 'queues', 'processes', 'idle'],
    unavailable: AVAILABLE[driver],
    version: () => driver,
    async producer({ url }) {
      const db = await open(url)
      const insert = db.prepare('INSERT INTO jobs (body) VALUES (?)')
      return {
        add: async (args) => insert.run(JSON.stringify(args)),
        async addBulk(rows) {
          db.exec('BEGIN IMMEDIATE')
          for (const args of rows) insert.run(JSON.stringify(args))
          db.exec('COMMIT')
        },
        close: () => db.close(),
      }
    },
    async worker({ url, concurrency }, handler) {
      const db = await open(url)
      const fetch = db.prepare('SELECT id, body FROM jobs WHERE owner = 0 ORDER BY id LIMIT ?')
      const claim = db.prepare('UPDATE jobs SET owner = ? WHERE id BETWEEN ? AND ?')
      const settle = db.prepare('DELETE FROM jobs WHERE id BETWEEN ? AND ? AND owner = ?')
      let closing = false
      let last
      async function loop() {
        while (!closing) {
          db.exec('BEGIN IMMEDIATE')
          if (last) settle.run(last[0], last[1], process.pid)
          const rows = fetch.all(BATCH)
          last = rows.length > 0 ? [rows[0].id, rows.at(-1).id] : undefined
          if (last) claim.run(process.pid, ...last)
          db.exec('COMMIT')
          await runAll(rows, concurrency, ({ body }) => handler(JSON.parse(body)))
          // A free moment for timers, as any worker leaves one.
          await (last ? new Promise((resume) => setImmediate(resume)) : sleep(1))
        }
        if (last) settle.run(last[0], last[1], process.pid)
        db.close()
      }
      const ended = loop()
      return {
        close() {
          closing = true
          return ended
        },
      }
    },
    async queued({ url }) {
      const db = await open(url)
      const { n } = db.prepare('SELECT count(*) AS n FROM jobs').get()
      db.close()
      return Number(n)
    },
  }
}

export default [
  raw('raw-libsql', 'libsql, prepared statements', 19, 'libsql', 'full'),
  raw('raw-libsql-normal', 'libsql, prepared statements, normal', 20, 'libsql', 'normal'),
  raw('raw-node', 'node:sqlite, prepared statements', 21, 'node', 'full'),
  raw('raw-node-normal', 'node:sqlite, prepared statements, normal', 22, 'node', 'normal'),
]
