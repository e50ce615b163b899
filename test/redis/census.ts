import type { Redis } from 'ioredis'
import { EVENT_STATUSES } from '#dist/store/contract.js'

/** The keys of an empty store, sorted: its schema, and the notes that refuse processes of version 0.1. */
export const EMPTY_STORE = ['hk:marks', 'hk:queues', 'hk:schema', 'hk:tasks']

/** Reads a database directly: nothing here uses the code of the store. */
export type Contents = Record<string, unknown>

/**
 * Returns all keys with their values, without what differs between two runs: tickets, ends of leases, times of
 * cancellations and measured figures.
 */
export async function contents(redis: Redis): Promise<Contents> {
  // The sets of settled arrivals expire after a moment or an hour.
  const names = (await redis.keys('*')).filter((name) => !name.includes(':settled:')).sort()
  const types = await answers(redis, (pipeline) => {
    for (const name of names) pipeline.type(name)
  })
  const values = await answers(redis, (pipeline) => {
    for (const [i, name] of names.entries()) {
      if (types[i] === 'string') pipeline.getBuffer(name)
      else if (types[i] === 'list') pipeline.lrange(name, 0, -1)
      else if (types[i] === 'set') pipeline.smembers(name)
      else if (types[i] === 'hash') pipeline.hgetall(name)
      else if (types[i] === 'zset') pipeline.zrange(name, '0', '-1', 'WITHSCORES')
      else pipeline.echo(`a ${types[i]}`)
    }
  })
  // The key was removed since the scan.
  const there = names.flatMap((name, i) => (values[i] === null || types[i] === 'none' ? [] : [[name, i] as const]))
  return Object.fromEntries(there.map(([name, i]) => [name, plain(name, types[i] as string, values[i])]))
}

/** Returns what is wrong with the jobs and tasks of a database; an empty list when they are consistent. */
export function faultsOf(all: Contents): string[] {
  const locations = locationsOf(all)
  const faults = [...locations].filter(([, where]) => where.length > 1).map(([jid, where]) => `${jid} is in ${where}`)
  const others = othersOf(all)
  const held = new Map<string, number>()
  for (const [key, header] of Object.entries(all)) {
    const [, queue = '', id = ''] = /hk:\{queue:(.*)\}:task:([0-9a-f]{16})$/.exec(key) ?? []
    if (!id) continue
    const said = (field: string) => Number((header as Record<string, string>)[field] ?? 0)
    const fault = (what: string) => faults.push(`task ${id}: ${what}`)
    const events = eventsOf((all[`${key}:events`] as string | undefined) ?? '')
    const next = said('next')
    // The store skips an entry whose event is not in the backlog any more, or is in another run.
    const entries = ((all[`${key}:backlog`] ?? []) as string[]).map(entryOf)
    const living = entries.filter(({ index, run, isNew }) => {
      const event = events[index]
      const isHeld = event && (event.location === HELD || (event.location === NEW && isNew && index >= next))
      return isHeld && event.status === 0 && event.run === run
    })
    const isWaiting = new Set(living.map(({ index }) => index))

    if (said('total') !== events.length) fault(`says ${said('total')} rows, has ${events.length}`)
    for (const [n, status] of EVENT_STATUSES.entries()) {
      const count = events.filter((event) => event.status === n).length
      if (said(status) !== count) fault(`says ${said(status)} ${status}, has ${count}`)
    }
    if (isWaiting.size !== living.length) fault(`has a row twice in its backlog`)
    if (said('backlog') !== living.length) fault(`says ${said('backlog')} held, has ${living.length} in its backlog`)
    for (const [i, { location }] of events.entries()) {
      if ((location === HELD || (location === NEW && i >= next)) && !isWaiting.has(i)) fault(`row ${i} is held nowhere`)
    }
    held.set(queue, (held.get(queue) ?? 0) + said('backlog'))
    const rows = (all[`${key}:rows`] ?? {}) as Record<string, string>
    let inWindow = 0
    for (const [i, { status, location }] of events.entries()) {
      const jid = id + i.toString(16).padStart(8, '0')
      if (others.has(jid)) continue
      const where = (locations.get(jid) ?? []).join()
      const isOpen = status <= 1
      const isParked = / p$/.test(rows[`d${i}`] ?? '')
      if (isOpen && where === '' && !isWaiting.has(i) && !isParked) fault(`row ${i} is open and nowhere`)
      const at = location === NEW ? (i < next ? 1 : 0) : location
      // The job of a cancelled row is settled without running when it is fetched.
      if (status === CANCELLED && at === ELSEWHERE) continue
      // So is the job of a row that was ended from outside. A parked row has no job.
      if (at === ELSEWHERE && / [pe]$/.test(rows[`d${i}`] ?? '')) continue
      if (/^(queue|working|arriving)/.test(where)) inWindow++
      const [word] = /^\w+/.exec(where) ?? ['']
      const fits = ['backlog', 'queue working arriving', 'retry schedule dead'][at]?.includes(word)
      if (where !== '' && !fits) fault(`row ${i} is in ${where}, and said to be at location ${location}`)
    }
    if (said('inWindow') !== inWindow) fault(`says ${said('inWindow')} in the window, has ${inWindow}`)
    const slots = (all[`${key}:reasons`] ?? {}) as Record<string, string>
    const rejected = events.flatMap(({ status }, i) => {
      const slot = Number(slots[`${status}:${rows[`c${i}`]}`] ?? 0)
      return status >= 3 ? [`${i} ${(status * 256 + slot) * 2 ** 32 + i}`] : []
    })
    const listed = (all[`${key}:rejected`] ?? []) as string[]
    if (rejected.sort().join() !== [...listed].sort().join()) fault(`lists as rejected ${listed}, has ${rejected}`)
  }
  for (const [queue, sum] of held) {
    const said = Number(all[`hk:{queue:${queue}}:backlog`] ?? 0)
    if (said !== sum) faults.push(`queue ${queue} says ${said} held, its tasks hold ${sum}`)
  }
  return faults
}

/** Returns the key of each job, by jid. */
export function locationsOf(all: Contents): Map<string, string[]> {
  const locations = new Map<string, string[]>()
  for (const [location, { jid }] of jobsOf(all)) locations.set(jid, [...(locations.get(jid) ?? []), location])
  return locations
}

/** Returns rows that share a job with an earlier row, which alone is in the window. */
function othersOf(all: Contents): Set<string> {
  const others = new Set<string>()
  for (const [, { jid, hk_rows = [] }] of jobsOf(all)) {
    for (const row of hk_rows.slice(1)) others.add(jid.slice(0, 16) + row.toString(16).padStart(8, '0'))
  }
  return others
}

function* jobsOf(all: Contents): Generator<[location: string, job: { jid: string; hk_rows?: number[] }]> {
  for (const [key, value] of Object.entries(all)) {
    const place = /^(?:hk:\{queue:.*\}:)?(queue|working|arriving|backlog|retry|schedule|dead|hk:transfer:jobs)\b/
    const name = place.exec(key)?.[1]
    const location = /:backlog$/.test(key) ? 'backlog' : name
    if (!location || !Array.isArray(value)) continue
    for (const line of value as string[]) {
      // For a backlog entry without the text of a job the task has the rest.
      if (location === 'backlog' && !/^[^\n]*!\n/.test(line)) continue
      // The score follows the text of a set's entry, and an index comes before the text of a backlog entry. An empty
      // text is a placeholder.
      const text = line.slice(line.indexOf('{'), line.lastIndexOf('}') + 1)
      if (text !== '') yield [location, JSON.parse(text)]
    }
  }
}

function plain(name: string, type: string, value: unknown): unknown {
  if (type === 'string' && ['hk:cancellation-version', 'hk:renewals'].includes(name)) return 'a version'
  // The number after the holder is new in each call.
  if (type === 'string' && name.startsWith('hk:leader:')) return (value as Buffer).toString().replace(/ \d+$/, '')
  if (type === 'string') return (value as Buffer).toString(name.endsWith(':events') ? 'hex' : 'utf8')
  if (type === 'set') return [...(value as string[])].sort()
  // Leaves out settled arrivals.
  if (type === 'hash' && name.includes(':working:'))
    return Object.values(value as object)
      .filter(Boolean)
      .sort()
  if (type === 'hash' && name.includes('hk:cron:')) return { ...(value as object), ends: undefined }
  if (type === 'hash' && name.startsWith('it-'))
    return { ...(value as object), cancelled: 'cancelled' in (value as object) }
  // Two runs may add the fields in another order.
  if (type === 'hash') return { ...Object.fromEntries(Object.entries(value as object).sort()), rtt_us: undefined }
  if (type !== 'zset') return value
  const pairs = value as string[]
  // Only the sign of a time is the same in two runs.
  const meanings = name.endsWith(':leases')
    ? ['claimed', 'held']
    : name === 'hk:cancelled'
      ? ['dropped', 'requested']
      : undefined
  const entries: string[] = []
  for (let i = 0; i < pairs.length; i += 2) {
    const [past, present] = meanings ?? []
    entries.push(`${pairs[i]} ${meanings ? (Number(pairs[i + 1]) < 0 ? past : present) : pairs[i + 1]}`)
  }
  return meanings ? entries.sort() : entries
}

const HELD = 0
const ELSEWHERE = 2
const NEW = 3
const CANCELLED = 5

/** A line of the backlog; see backlog.lua. */
function entryOf(entry: string): { index: number; run: number; isNew: boolean } {
  const [head = ''] = entry.split('\n')
  const [, index, run = '1', mark = ''] = /^(\d+)(?::(\d+))?([!@]?)/.exec(head) ?? []
  return { index: Number(index), run: Number(run), isNew: mark === '' }
}

/** Records of 20 bytes, in hex; see ledger.lua. */
function eventsOf(hex: string): { status: number; location: number; run: number }[] {
  const bytes = Buffer.from(hex, 'hex')
  return Array.from({ length: bytes.length / 20 }, (_, i) => {
    const flags = bytes.readUInt8(i * 20)
    return { status: flags % 8, location: (flags >> 3) % 4, run: bytes.readUInt16LE(i * 20 + 1) }
  })
}

async function answers(redis: Redis, fill: (pipeline: ReturnType<Redis['pipeline']>) => void): Promise<unknown[]> {
  const pipeline = redis.pipeline()
  fill(pipeline)
  return ((await pipeline.exec()) ?? []).map(([error, answer]) => {
    if (error) throw error
    return answer
  })
}
