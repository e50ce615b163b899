/** Searching queues and sets, moving jobs out of the middle of a queue, and clearing queues and sets. */

import { between } from '../../../job/between.ts'
import type { Entry, Pull, SearchStore, WaitingJob } from '../../contract.ts'
import { HIGHEST } from '../../sql/job-sets.ts'
import { BEFORE_ALL, MAX_COMPARED, MAX_QUEUES, type PullSearch } from '../../sql/search.ts'
import { JobSets } from '../queues/job-sets.ts'
import { howManyFit, type Sized } from '../queues/queues.ts'
import { MOST_CHARACTERS, slicesOf } from '../queues/slices.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { PostgresArea } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { readSet, UNPACKED_AT_ONCE } from './job-set-store.ts'
import { applyAll, moveAll } from './moves.ts'

export class PostgresSearchStore extends PostgresArea implements SearchStore {
  /** The cursor is the position of the last compared job. The position of a job never changes. */
  readonly scanQueue: SearchStore['scanQueue'] = (name, needle, { after, at, oldestFirst = false, limit }) =>
    this.server.read(async (db) => {
      const found = await db.first<{ id: number; tail: number }>(sql.queue.id, name)
      if (!found) return { items: [], next: null, scanned: 0 }
      const newest = at === undefined ? found.tail + 1 : Number(at) + 1
      const from = after === undefined ? (oldestFirst ? BEFORE_ALL : newest) : Number(after)
      const order = oldestFirst ? sql.queue.oldest : sql.queue.newest
      const sizes = await db.all<Sized & { position: number }>(order, found.id, from, MAX_COMPARED)
      const compared = sizes.slice(0, howManyFit(sizes))
      const last = compared.at(-1)
      if (!last) return { items: [], next: null, scanned: 0 }
      const [least, most] = oldestFirst ? [from, last.position] : [last.position, from]
      const search = oldestFirst ? sql.queue.searchOldest : sql.queue.search
      const hits = await db.all<{ position: number; text: string }>(search, found.id, least, most, needle, limit)
      const items = hits.map(({ position, text }) => ({ at: String(position), text }))
      const lastHit = hits.at(-1)
      const isFull = hits.length === limit && lastHit !== undefined
      const end = isFull ? lastHit.position : last.position
      const scanned = isFull ? compared.findIndex(({ position }) => position === end) + 1 : compared.length
      const isEnd = scanned === sizes.length && sizes.length < MAX_COMPARED
      return { items, next: isEnd ? null : String(end), scanned }
    })

  /** One statement reads the jobs. A queue that grew after its size was read is read whole, too. */
  readonly scanQueues: SearchStore['scanQueues'] = (queues, needle) =>
    this.server.read(async (db) => {
      const asked = queues.slice(0, MAX_QUEUES)
      const sizes = await db.all<Sized & { id: number | null; jobs: number }>(sql.search.sizes, asked, MAX_COMPARED)
      let bytes = 0
      const beyond = sizes.findIndex((size) => {
        bytes += size.bytes
        return bytes > MOST_CHARACTERS
      })
      const some = beyond === -1 ? sizes : sizes.slice(0, beyond)
      const ids = some.map(({ id }) => id)
      type Hit = { n: number; position: number; text: string }
      const hits = await db.all<Hit>(sql.search.inQueues, ids, needle)
      const items = hits.map(({ n, position, text }) => ({ queue: asked[n - 1] as string, at: String(position), text }))
      return { items, sizes: some.map(({ jobs }) => jobs) }
    })

  /** Searches from the highest score down. The cursor is a (score, text) between two entries. */
  readonly scanSet: SearchStore['scanSet'] = (set, needle, { after, limit }) =>
    readSet(this.server, set, async (db) => {
      const id = await db.get(JobSets).idOf(set)
      const [, score = HIGHEST.score, text = HIGHEST.text] = /^([^:]*):(.*)$/s.exec(after ?? '') ?? []
      const from = [Number(score), text] as const
      const compared = howManyFit(await db.all<Sized>(sql.set.lengthsDown, id, ...from, MAX_COMPARED))
      const last = compared > 0 ? await db.first<Entry>(sql.set.atDown, id, ...from, compared - 1) : undefined
      if (!last) return { items: [], next: null, scanned: 0 }
      const items = await db.all<Entry>(sql.set.search, id, ...from, last.score, last.text, needle, limit)
      const end = (items.length === limit && items.at(-1)) || last
      const upToEnd = async () =>
        (await db.first<{ n: number }>(sql.set.countDown, id, ...from, end.score, end.text))?.n ?? 0
      const scanned = end === last ? compared : await upToEnd()
      const [behind] = await db.all<Entry>(sql.set.pageDown, id, end.score, end.text, 1)
      if (!behind) return { items, next: null, scanned }
      const name = end.score === behind.score ? between(behind.text, end.text) : ''
      return { items, next: `${end.score}:${name}`, scanned }
    })

  readonly pull: SearchStore['pull'] = async (queue, items, now) => {
    const search: PullSearch = { queue, items, positions: items.map(() => undefined) }
    while (await this.server.read((db) => searchStep(db, search)));
    return await applyAll(this.server, [...items.entries()], now, async (db, ledgers, some) => {
      const expected = some.map(([i, { text }]) => ({ position: search.positions[i] ?? null, text }))
      const id = (await db.first<{ id: number }>(sql.queue.id, queue))?.id
      if (id === undefined) return some.map(() => 'gone')
      await db.run(
        sql.queue.unpackAt,
        id,
        expected.map(({ position }) => position),
      )
      const pulls = expected.map((place, i) => (some[i]?.[1].to?.to === 'same' ? { ...place, position: null } : place))
      const isRemoved = await numbered(db, sql.search.pull, id, pulls)
      for (const [n, [, { to }]] of some.entries()) {
        if (to?.to !== 'same') continue
        const { position, text } = expected[n] as ExpectedPosition
        isRemoved[n] = (await db.run(sql.queue.replace, to.text.toWellFormed(), id, position, text)) > 0
      }
      const moves = some.map(([, { to, effects }]) => ({ to: to?.to === 'same' ? null : to, effects }))
      return await moveAll(db, ledgers, moves, isRemoved)
    })
  }

  readonly clearQueue: SearchStore['clearQueue'] = (queue, needles, limit) =>
    this.server.write(async (db) => {
      const id = (await db.first<{ id: number }>(sql.queue.id, queue))?.id
      if (id === undefined) return { removed: 0, kept: [], done: true }
      const isFree = await isWithoutEffects(db)
      const most = isFree ? MAX_COMPARED : Math.min(limit, MAX_COMPARED)
      const sizes = await db.all<Sized & { position: number }>(sql.queue.positions, id, most)
      const last = sizes[howManyFit(sizes) - 1]
      let removed = 0
      let kept: WaitingJob[] = []
      if (last) {
        if (isFree) removed = (await db.first<{ jobs: number }>(sql.queue.clearPacks, id, last.position))?.jobs ?? 0
        await db.run(sql.queue.unpack, id, BEFORE_ALL, last.position)
        removed += await db.run(sql.queue.clearTo, id, last.position, isFree ? [] : needles)
      }
      if (last && !isFree) {
        const left = await db.all<{ position: number; text: string }>(sql.queue.leftTo, id, last.position)
        kept = left.map(({ position, text }) => ({ text, at: String(position) }))
      }
      if (removed > 0) await db.run(sql.queue.shrink, removed, id)
      const [next] = (await db.all<Sized>(sql.queue.positions, id, kept.length + 1)).slice(kept.length)
      if (!next && kept.length === 0) await db.run(sql.queue.hide, id)
      return { removed, kept, done: !next }
    })

  readonly clearSet: SearchStore['clearSet'] = (set, needles) =>
    this.server.write(async (db) => {
      const wanted = needles.length === 0 || (await isWithoutEffects(db)) ? [] : needles
      const isKept = ({ text }: Entry) => wanted.some((needle) => text.includes(needle))
      if (!(await db.get(JobSets).unpack(set, UNPACKED_AT_ONCE))) return { removed: 0, kept: [], done: false }
      const id = await db.get(JobSets).idOf(set)
      const sizes = await db.all<Sized>(sql.set.lengthsUp, id, MAX_COMPARED)
      const lowest = await db.get(JobSets).page(set, { limit: howManyFit(sizes) })
      const kept = lowest.filter(isKept)
      const removed = lowest.filter((entry) => !isKept(entry))
      await db.get(JobSets).removeAll(set, removed)
      const done = lowest.length === sizes.length && sizes.length < MAX_COMPARED
      return { removed: removed.length, kept, done }
    })
}

/**
 * Searches where the items should be, then a number of jobs from the newest on. Returns false when it is complete. Items
 * without `at` should be among the jobs that are fetched next.
 */
async function searchStep(db: Database, search: PullSearch): Promise<boolean> {
  const { queue, items, positions } = search
  const found = await db.first<{ id: number; tail: number }>(sql.queue.id, queue)
  if (!found) return false
  if (search.from === undefined) {
    search.from = found.tail + 1
    const expected = items.map(({ text, at }) => ({ position: positionOf(at), text }))
    for (const [i, isThere] of (await numbered(db, sql.search.areAt, found.id, expected)).entries()) {
      const position = expected[i]?.position ?? undefined
      if (isThere && !positions.includes(position)) positions[i] = position
    }
    if (items.some(({ at }) => at === undefined)) {
      const next = await db.all<Sized & { position: number }>(sql.queue.positions, found.id, MAX_COMPARED)
      const last = next[howManyFit(next) - 1]
      if (last) await locate(db, search, [found.id, (next[0] as { position: number }).position, last.position + 1])
    }
  }
  if (!positions.includes(undefined)) return false
  const sizes = await db.all<Sized & { position: number }>(sql.queue.newest, found.id, search.from, MAX_COMPARED)
  const last = sizes[howManyFit(sizes) - 1]
  if (!last) return false
  await locate(db, search, [found.id, last.position, search.from])
  search.from = last.position
  return true
}

/** Finds missing items between two positions of a queue, the second one excluded. */
async function locate(
  db: Database,
  { items, positions }: PullSearch,
  range: [queue: number, from: number, to: number],
): Promise<void> {
  const missing = [...items.keys()].filter((i) => positions[i] === undefined)
  const texts = missing.map((i) => (items[i] as Pull).text)
  for (const { position, text } of await db.all<{ position: number; text: string }>(
    sql.queue.whereIs,
    ...range,
    texts,
  )) {
    // Each of several jobs with the same text has its own position.
    if (positions.includes(position)) continue
    const i = missing.findIndex((one) => positions[one] === undefined && items[one]?.text === text)
    if (i >= 0) positions[missing[i] as number] = position
  }
}

/** Where a job should be in its queue; null: nowhere. */
interface ExpectedPosition {
  position: number | null
  text: string
}

function positionOf(at: string | undefined): number | null {
  const position = Number(at ?? Number.NaN)
  return Number.isSafeInteger(position) ? position : null
}

/** Runs a statement that returns the numbers of some of the expected jobs. Returns for each job whether it is among them. */
async function numbered(
  db: Database,
  statement: string,
  queue: number,
  expected: readonly ExpectedPosition[],
): Promise<boolean[]> {
  const isAmong: boolean[] = []
  for (const slice of slicesOf(expected, ({ text }) => text.length)) {
    const values = columns(
      slice,
      ({ position }) => position,
      ({ text }) => text,
    )
    const numbers = new Set((await db.all<{ i: number }>(statement, queue, ...values)).map(({ i }) => i))
    for (const i of slice.keys()) isAmong.push(numbers.has(i + 1))
  }
  return isAmong
}

/** Returns whether no job can have anything that must change with it: an open row of a task, a batch, a lock, or a cron entry. */
async function isWithoutEffects(db: Database): Promise<boolean> {
  return (await db.first(sql.search.someEffects)) === undefined
}
