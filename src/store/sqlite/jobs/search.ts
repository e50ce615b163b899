/** Searching queues and sets, moving jobs out of the middle of a queue, and clearing queues and sets. */

import { between } from '../../../job/between.ts'
import type { Entry, QueuesScan, SearchStore, WaitingJob } from '../../contract.ts'
import { HIGHEST } from '../../sql/job-sets.ts'
import { BEFORE_ALL, MAX_COMPARED, MAX_QUEUES, type PullSearch } from '../../sql/search.ts'
import type { Database } from '../file/database.ts'
import { SqliteArea } from '../file/store-file.ts'
import { JobSets } from '../queues/job-sets.ts'
import { MOST_BYTES } from '../queues/packed.ts'
import { howManyFit, type Sized } from '../queues/queues.ts'
import { sql } from '../sql.generated.ts'
import { readSet, UNPACKED_AT_ONCE } from './job-set-store.ts'
import { applyEach, move } from './moves.ts'

export class SqliteSearchStore extends SqliteArea implements SearchStore {
  /** The cursor is the position of the last compared job. The position of a job never changes. */
  readonly scanQueue: SearchStore['scanQueue'] = (name, needle, { after, at, oldestFirst = false, limit }) =>
    this.file.readAtOnce((db) => {
      const found = db.first<{ id: number; tail: number }>(sql.queue.id, name)
      if (!found) return { items: [], next: null, scanned: 0 }
      const newest = at === undefined ? found.tail + 1 : Number(at) + 1
      const from = after === undefined ? (oldestFirst ? BEFORE_ALL : newest) : Number(after)
      const order = oldestFirst ? sql.queue.oldest : sql.queue.newest
      const sizes = db.all<Sized & { position: number }>(order, found.id, from, MAX_COMPARED)
      const compared = sizes.slice(0, howManyFit(sizes))
      const last = compared.at(-1)
      if (!last) return { items: [], next: null, scanned: 0 }
      const [least, most] = oldestFirst ? [from, last.position] : [last.position, from]
      const search = oldestFirst ? sql.queue.searchOldest : sql.queue.search
      const hits = db.all<{ position: number; text: string }>(search, found.id, least, most, needle, limit)
      const items = hits.map(({ position, text }) => ({ at: String(position), text }))
      const lastHit = hits.at(-1)
      const isFull = hits.length === limit && lastHit !== undefined
      const end = isFull ? lastHit.position : last.position
      const scanned = isFull ? compared.findIndex(({ position }) => position === end) + 1 : compared.length
      const isEnd = scanned === sizes.length && sizes.length < MAX_COMPARED
      return { items, next: isEnd ? null : String(end), scanned }
    })

  readonly scanQueues: SearchStore['scanQueues'] = (queues, needle) =>
    this.file.readAtOnce((db) => scanQueues(db, queues, needle))

  /** Searches from the highest score down. The cursor is a (score, text) between two entries. */
  readonly scanSet: SearchStore['scanSet'] = (set, needle, { after, limit }) =>
    readSet(this.file, set, (db) => {
      const id = db.get(JobSets).idOf(set)
      const [, score = HIGHEST.score, text = HIGHEST.text] = /^([^:]*):(.*)$/s.exec(after ?? '') ?? []
      const from = [Number(score), text] as const
      const compared = howManyFit(db.all<Sized>(sql.set.lengthsDown, id, ...from, MAX_COMPARED))
      const last = compared > 0 ? db.first<Entry>(sql.set.atDown, id, ...from, compared - 1) : undefined
      if (!last) return { items: [], next: null, scanned: 0 }
      const items = db.all<Entry>(sql.set.search, id, ...from, last.score, last.text, needle, limit)
      const end = (items.length === limit && items.at(-1)) || last
      const upToEnd = () => db.first<{ n: number }>(sql.set.countDown, id, ...from, end.score, end.text)?.n ?? 0
      const scanned = end === last ? compared : upToEnd()
      const [behind] = db.all<Entry>(sql.set.pageDown, id, end.score, end.text, 1)
      if (!behind) return { items, next: null, scanned }
      const name = end.score === behind.score ? between(behind.text, end.text) : ''
      return { items, next: `${end.score}:${name}`, scanned }
    })

  readonly pull: SearchStore['pull'] = async (queue, items, now) => {
    const search: PullSearch = { queue, items, positions: items.map(() => undefined) }
    while (await this.file.read((db) => searchStep(db, search)));
    return applyEach(this.file, [...items.entries()], now, (db, ledgers, [i, { text, to, effects }]) => {
      const position = search.positions[i]
      if (position === undefined) return 'gone'
      if (to?.to === 'same') {
        const id = db.first<{ id: number }>(sql.queue.id, queue)?.id ?? null
        if (db.run(sql.queue.replace, to.text.toWellFormed(), id, position, text) === 0) return 'gone'
        ledgers.apply(effects)
        return 'ok'
      }
      if (!remove(db, queue, position, text)) return 'gone'
      move(db, ledgers, to, effects)
      return 'ok'
    })
  }

  readonly clearQueue: SearchStore['clearQueue'] = (queue, needles, limit) =>
    this.file.write((db) => {
      const id = db.first<{ id: number }>(sql.queue.id, queue)?.id
      if (id === undefined) return { removed: 0, kept: [], done: true }
      const isFree = isWithoutEffects(db)
      const most = isFree ? MAX_COMPARED : Math.min(limit, MAX_COMPARED)
      const sizes = db.all<Sized & { position: number }>(sql.queue.positions, id, most)
      const last = sizes[howManyFit(sizes) - 1]
      let removed = 0
      let kept: WaitingJob[] = []
      if (last && isFree) {
        removed = db.run(sql.queue.removeTo, id, last.position)
      } else if (last) {
        removed = db.run(sql.queue.clearTo, id, last.position, JSON.stringify(needles))
        const left = db.all<{ position: number; text: string }>(sql.queue.leftTo, id, last.position)
        kept = left.map(({ position, text }) => ({ text, at: String(position) }))
      }
      if (removed > 0) db.run(sql.queue.shrink, removed, id)
      const [next] = db.all<Sized>(sql.queue.positions, id, kept.length + 1).slice(kept.length)
      if (!next && kept.length === 0) db.run(sql.queue.hide, id)
      return { removed, kept, done: !next }
    })

  readonly clearSet: SearchStore['clearSet'] = (set, needles) =>
    this.file.write((db) => {
      const wanted = needles.length === 0 || isWithoutEffects(db) ? [] : needles
      const isKept = ({ text }: Entry) => wanted.some((needle) => text.includes(needle))
      if (!db.get(JobSets).unpack(set, UNPACKED_AT_ONCE)) return { removed: 0, kept: [], done: false }
      const id = db.get(JobSets).idOf(set)
      const sizes = db.all<Sized>(sql.set.lengthsUp, id, MAX_COMPARED)
      const lowest = db.get(JobSets).page(set, { limit: howManyFit(sizes) })
      const kept = lowest.filter(isKept)
      const removed = lowest.filter((entry) => !isKept(entry))
      for (const { score, text } of removed) db.first(sql.set.remove, id, score, text)
      if (removed.length > 0) db.run(sql.set.grow, -removed.length, id)
      const done = lowest.length === sizes.length && sizes.length < MAX_COMPARED
      return { removed: removed.length, kept, done }
    })
}

/**
 * Searches where the items should be, then a number of jobs from the newest on. Returns false when it is complete. Items
 * without `at` should be among the jobs that are fetched next.
 */
function searchStep(db: Database, search: PullSearch): boolean {
  const { queue, items, positions } = search
  const found = db.first<{ id: number; tail: number }>(sql.queue.id, queue)
  if (!found) return false
  if (search.from === undefined) {
    search.from = found.tail + 1
    for (const [i, { text, at }] of items.entries()) {
      const position = Number(at ?? Number.NaN)
      const isThere = Number.isSafeInteger(position) && db.first(sql.queue.isAt, found.id, position, text)
      if (isThere && !positions.includes(position)) positions[i] = position
    }
    if (items.some(({ at }) => at === undefined)) {
      const next = db.all<Sized & { position: number }>(sql.queue.positions, found.id, MAX_COMPARED)
      const last = next[howManyFit(next) - 1]
      if (last) locate(db, search, [found.id, (next[0] as { position: number }).position, last.position + 1])
    }
  }
  if (!positions.includes(undefined)) return false
  const sizes = db.all<Sized & { position: number }>(sql.queue.newest, found.id, search.from, MAX_COMPARED)
  const last = sizes[howManyFit(sizes) - 1]
  if (!last) return false
  locate(db, search, [found.id, last.position, search.from])
  search.from = last.position
  return true
}

/** Finds missing items between two positions of a queue, the second one excluded. */
function locate(
  db: Database,
  { items, positions }: PullSearch,
  range: [queue: number, from: number, to: number],
): void {
  const missing = [...items.keys()].filter((i) => positions[i] === undefined)
  const texts = JSON.stringify(missing.map((i) => items[i]?.text))
  for (const { position, text } of db.all<{ position: number; text: string }>(sql.queue.whereIs, ...range, texts)) {
    // Each of several jobs with the same text has its own position.
    if (positions.includes(position)) continue
    const i = missing.findIndex((one) => positions[one] === undefined && items[one]?.text === text)
    if (i >= 0) positions[missing[i] as number] = position
  }
}

/** Returns false if the job is not at this position (any more). */
function remove(db: Database, queue: string, position: number, text: string): boolean {
  const id = db.first<{ id: number }>(sql.queue.id, queue)?.id
  if (id === undefined || !db.first(sql.queue.remove, id, position, text)) return false
  db.run(sql.queue.shrink, 1, id)
  return true
}

/** Returns whether no job can have anything that must change with it: an open row of a task, a batch, a lock, or a cron entry. */
function isWithoutEffects(db: Database): boolean {
  const { task, cronRun, lock, unique, batch } = sql
  return ![task.someOpen, cronRun.some, lock.some, unique.some, batch.someOpen].some((statement) => db.first(statement))
}

/** Searches queues until one has too many jobs or bytes. */
function scanQueues(db: Database, queues: readonly string[], needle: string): QueuesScan {
  const scan: QueuesScan = { items: [], sizes: [] }
  let bytes = 0
  let most = MAX_COMPARED
  for (const queue of queues.slice(0, MAX_QUEUES)) {
    const { id, tail } = db.first<{ id: number; tail: number }>(sql.queue.id, queue) ?? { id: -1, tail: 0 }
    const sizes = db.all<Sized & { position: number }>(sql.queue.newest, id, tail + 1, most + 1)
    for (const size of sizes) bytes += size.bytes
    if (sizes.length > most || bytes > MOST_BYTES) break
    scan.sizes.push(sizes.length)
    most -= sizes.length
    const last = sizes.at(-1)
    if (!last) continue
    const range = [id, last.position, tail + 1] as const
    const hits = db.all<{ position: number; text: string }>(sql.queue.search, ...range, needle, sizes.length)
    for (const { position, text } of hits) scan.items.push({ queue, at: String(position), text })
  }
  return scan
}
