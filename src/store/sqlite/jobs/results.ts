import { setTimeout as pause } from 'node:timers/promises'
import type { ResultStore } from '../../contract.ts'
import { ANSWER_SECONDS, SqliteArea } from '../file/store-file.ts'
import { KeptResults, resultChannel } from '../queues/kept-results.ts'
import { sql } from '../sql.generated.ts'

/** The least time between two reads of a waiting caller, in milliseconds. */
const READ_MS = 10

export class SqliteResultStore extends SqliteArea implements ResultStore {
  readonly remember: ResultStore['remember'] = (key, value, seconds, instead) =>
    this.file.write((db) => {
      const now = Date.now()
      db.run(sql.result.deleteOldMemory, now)
      const found = db.first<{ value: string }>(sql.result.remembered, key)
      if (found && found.value !== instead) return found.value
      db.run(sql.result.remember, key, value.toWellFormed(), now + Math.ceil(seconds * 1000))
      return null
    }, ANSWER_SECONDS)

  readonly keep: ResultStore['keep'] = (jid, text, seconds) =>
    this.file.write((db) => {
      db.get(KeptResults).keep(jid, text, seconds)
      db.checkRoom()
    }, ANSWER_SECONDS)

  readonly find: ResultStore['find'] = async (jid, ms = 0, signal = new AbortController().signal) => {
    const end = performance.now() + ms
    for (;;) {
      const found = await this.file.read((db) => db.first<{ text: string }>(sql.result.find, jid, Date.now()))
      const left = end - performance.now()
      if (found || left <= 0 || this.file.isClosed || signal.aborted) return found?.text ?? null
      await this.file.wait([resultChannel(jid)], left, signal)
      // A write of another process wakes all waiters, so they must not read after each of its writes.
      await pause(READ_MS)
    }
  }

  readonly secret: ResultStore['secret'] = (name, proposed) =>
    this.file.write((db) => (db.first(sql.result.secret, name, proposed) as { text: string }).text, ANSWER_SECONDS)

  readonly linkVersion: ResultStore['linkVersion'] = (list) =>
    this.file.read((db) => db.first<{ version: number }>(sql.result.linkVersion, list)?.version ?? 0)

  readonly raiseLinkVersion: ResultStore['raiseLinkVersion'] = (list, atLeast = 0) =>
    this.file.write((db) => void db.run(sql.result.raiseLinkVersion, list, atLeast), ANSWER_SECONDS)

  readonly linkVersions: ResultStore['linkVersions'] = () =>
    this.file.read((db) => {
      const rows = db.all<{ list: string; version: number }>(sql.result.linkVersions)
      return Object.fromEntries(rows.map(({ list, version }) => [list, version]))
    })
}
