/**
 * Reads and writes values in the JSON of Rails' ActiveJob: JSON's own types as they are, hashes with the kind of their keys,
 * records as a GlobalID, and everything else as `{ "_aj_serialized": SERIALIZER, … }`.
 */

import { HighkiqError } from '../job/errors.ts'

/** A record of a Rails app, by its address. `id` is a list if the record has a composite key. */
export interface GlobalId {
  gid: string
  app: string
  model: string
  id: string | string[]
}

const GLOBAL_ID = '_aj_globalid'
const SERIALIZED = '_aj_serialized'
const SYMBOL_KEYS = '_aj_symbol_keys'
const KEYWORDS = '_aj_ruby2_keywords'
const RESERVED = new Set([GLOBAL_ID, SERIALIZED, SYMBOL_KEYS, KEYWORDS, '_aj_hash_with_indifferent_access'])
const SERIALIZER = 'ActiveJob::Serializers::'

type Fields = Record<string, unknown>

/** The reader of each of Rails' own serializers; it returns undefined for a value that it can't read. */
const READERS: Record<string, (fields: Fields, read: (value: unknown) => unknown) => unknown> = {
  Symbol: ({ value }) => value,
  Module: ({ value }) => value,
  BigDecimal: ({ value }) => value,
  Date: ({ value }) => value,
  Time: ({ value }) => date(value),
  DateTime: ({ value }) => date(value),
  TimeWithZone: ({ value }) => date(value),
  Duration: ({ value }) => value,
  Range: ({ begin, end, exclude_end }, read) => ({ begin: read(begin), end: read(end), excludeEnd: exclude_end }),
}

/**
 * Returns the arguments as a handler gets them. Records are `GlobalId`s and times Dates. Symbols, names of modules, dates
 * without a time (`2026-12-01`) and exact decimals are strings, durations are seconds, ranges `{ begin, end, excludeEnd }`,
 * and hashes objects. A value of another serializer stays as it is, and `onUnknown` gets the serializer's name.
 */
export function decode(values: readonly unknown[], onUnknown: (serializer: string) => void): unknown[] {
  const read = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(read)
    if (typeof value !== 'object' || value === null) return value
    const fields = value as Fields
    const keys = Object.keys(fields)
    if (keys.length === 1 && keys[0] === GLOBAL_ID) return globalId(fields[GLOBAL_ID]) ?? value
    if (Object.hasOwn(fields, SERIALIZED)) return serialized(fields)
    return Object.fromEntries(keys.filter((key) => !RESERVED.has(key)).map((key) => [key, read(fields[key])]))
  }
  const serialized = (fields: Fields): unknown => {
    const name = String(fields[SERIALIZED])
    const kind = name.startsWith(SERIALIZER) ? name.slice(SERIALIZER.length).replace(/Serializer$/, '') : ''
    const known = Object.hasOwn(READERS, kind) ? READERS[kind]?.(fields, read) : undefined
    if (known === undefined) onUnknown(name)
    return known ?? fields
  }
  return values.map(read)
}

/**
 * Returns the arguments as ActiveJob reads them: Dates become times, objects become hashes with string keys, GlobalIds
 * become records. The functions of this file make Ruby's other values. All others must be JSON.
 * @throws INVALID_ARGS for a key that ActiveJob reserves
 */
export function encode(values: readonly unknown[]): unknown[] {
  return values.map(write)
}

function write(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(write)
  if (value instanceof Ruby) return value.json
  if (value instanceof Date) return { [SERIALIZED]: `${SERIALIZER}TimeSerializer`, value: value.toISOString() }
  if (typeof value !== 'object' || value === null) return value
  if (Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null) return value
  return isGlobalId(value) ? { [GLOBAL_ID]: value.gid } : { ...written(value), [SYMBOL_KEYS]: [] }
}

function written(hash: object): Fields {
  for (const key of Object.keys(hash)) {
    if (RESERVED.has(key)) {
      throw new HighkiqError('INVALID_ARGS', `ActiveJob reserves the key ${key}: use another name`)
    }
  }
  return Object.fromEntries(Object.entries(hash).map(([key, value]) => [key, write(value)]))
}

/** A value of a type that only Ruby has, in the JSON of ActiveJob. */
class Ruby {
  readonly json: Fields
  constructor(json: Fields) {
    this.json = json
  }
}

function ruby(serializer: string, value: string): Ruby {
  return new Ruby({ [SERIALIZED]: `${SERIALIZER}${serializer}Serializer`, value })
}

/** Returns a symbol: `:name`. */
export function symbol(name: string): Ruby {
  return ruby('Symbol', name)
}

/** Returns a date without a time: `2026-12-01`. For a time use a Date. @throws INVALID_ARGS */
export function day(text: string): Ruby {
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) return ruby('Date', text)
  throw new HighkiqError('INVALID_ARGS', `${JSON.stringify(text)} is not a date: write it as 2026-12-01`)
}

/** Returns an exact number: `'12.50'`. @throws INVALID_ARGS */
export function decimal(text: string): Ruby {
  if (/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return ruby('BigDecimal', text)
  throw new HighkiqError('INVALID_ARGS', `${JSON.stringify(text)} is not a decimal number: write it as 12.50`)
}

/** Returns keyword arguments, which come last: for `perform(id, force: true)` pass `id, keywords({ force: true })`. */
export function keywords(named: object): Ruby {
  return new Ruby({ ...written(named), [KEYWORDS]: Object.keys(named) })
}

/** Returns the record with this address: `gid://app/User/1`. @throws INVALID_ARGS */
export function gid(address: string): GlobalId {
  const record = globalId(address)
  if (record) return record
  throw new HighkiqError('INVALID_ARGS', `${JSON.stringify(address)} is not a GlobalID: write it as gid://app/User/1`)
}

function globalId(address: unknown): GlobalId | undefined {
  const match = typeof address === 'string' ? /^gid:\/\/([^/]+)\/([^/]+)\/([^?]+)/.exec(address) : null
  if (!match) return undefined
  const [, app = '', model = '', path = ''] = match
  try {
    const ids = path.split('/').map(decodeURIComponent)
    return { gid: match.input, app, model, id: ids.length > 1 ? ids : (ids[0] ?? '') }
  } catch {
    return undefined
  }
}

function isGlobalId(value: object): value is GlobalId {
  const { gid, app, model } = value as Partial<GlobalId>
  return typeof gid === 'string' && gid.startsWith('gid://') && app !== undefined && model !== undefined
}

function date(value: unknown): Date | undefined {
  const time = typeof value === 'string' ? new Date(value) : undefined
  return time && !Number.isNaN(time.getTime()) ? time : undefined
}
