import type { ResultStore } from '../../contract.ts'
import { keepResult, resultChannel } from '../queues/kept-results.ts'
import { ANSWER_SECONDS, PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'

export class PostgresResultStore extends PostgresArea implements ResultStore {
  readonly remember: ResultStore['remember'] = (key, value, seconds, instead) =>
    this.server.write(async (db) => {
      const found = await db.first<{ value: string }>(sql.result.remembered, key)
      if (found && found.value !== instead) return found.value
      await db.run(sql.result.remember, key, value.toWellFormed(), Math.ceil(seconds * 1000))
      return null
    }, ANSWER_SECONDS)

  // This write does not wait for the writers.
  readonly keep: ResultStore['keep'] = async (jid, text, seconds) => {
    await this.server.runOne((db) => keepResult(db, jid, text, seconds))
    await this.server.notify([resultChannel(jid)])
  }

  readonly find: ResultStore['find'] = async (jid, ms = 0, signal = new AbortController().signal) => {
    const read = () => this.server.runOne((db) => db.first<{ text: string }>(sql.result.find, jid))
    return (await this.server.readUntil([resultChannel(jid)], ms, signal, read))?.text ?? null
  }

  readonly secret: ResultStore['secret'] = (name, proposed) =>
    this.server.write(
      async (db) => ((await db.first(sql.result.secret, name, proposed)) as { text: string }).text,
      ANSWER_SECONDS,
    )

  readonly linkVersion: ResultStore['linkVersion'] = (list) =>
    this.server.runOne(async (db) => (await db.first<{ version: number }>(sql.result.linkVersion, list))?.version ?? 0)

  readonly raiseLinkVersion: ResultStore['raiseLinkVersion'] = (list, atLeast = 0) =>
    this.server.write(async (db) => void (await db.run(sql.result.raiseLinkVersion, list, atLeast)), ANSWER_SECONDS)

  readonly linkVersions: ResultStore['linkVersions'] = () =>
    this.server.runOne(async (db) => {
      const rows = await db.all<{ list: string; version: number }>(sql.result.linkVersions)
      return Object.fromEntries(rows.map(({ list, version }) => [list, version]))
    })
}
