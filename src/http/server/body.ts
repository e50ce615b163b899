/** Reads the body of a request within its limits: as JSON, as lines of JSON, or as a stream. */

import { isDeeperThan } from '../../job/args.ts'
import { codeOf, HighkiqError, messageOf } from '../../job/errors.ts'
import { isObject, parseJson } from '../../job/json.ts'
import { count } from '../../job/plural.ts'
import type { SchemaName } from '../schemas.ts'
import { invalid } from './answer.ts'
import type { Route } from './route.ts'

/** Media types of a body with one JSON value on each line. */
export const LINES = ['application/x-ndjson', 'application/jsonl', 'application/ndjson']

/** Describes a body that is JSON of this schema, or has one JSON value on each line. */
export function jsonBody(schema: SchemaName): NonNullable<Route['body']> {
  const lines = Object.fromEntries(LINES.map((type) => [type, { type: 'string' }]))
  return { content: { 'application/json': schema, ...lines } }
}

/** Returns the media type, `text/csv` for `text/csv; charset=utf-8`; '' without a Content-Type. */
export function typeOf(request: Request): string {
  return (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
}

/** @throws UNSUPPORTED_TYPE */
export function checkType(request: Request, { body }: Route): void {
  if (!body) return
  const encoding = request.headers.get('content-encoding')
  if (encoding && encoding.toLowerCase() !== 'identity') {
    const message = `Content-Encoding must be identity (got ${encoding}): send the body uncompressed`
    throw new HighkiqError('UNSUPPORTED_TYPE', message)
  }
  const type = typeOf(request)
  const types = Object.keys(body.content)
  if (types.includes(type)) return
  if (type === '' && (types.includes('application/octet-stream') || (body.optional && !request.body))) return
  throw new HighkiqError('UNSUPPORTED_TYPE', `Content-Type must be ${types.join(' or ')} (got ${type || 'none'})`)
}

/** Each time this many bytes arrive, the body gets another second. */
const BYTES_A_SECOND = 2000

/** How long the server waits for the body of each request; without an entry it waits for ever. */
const patience = new WeakMap<Request, { seconds: number; most: number }>()

const UNLIMITED = { seconds: Number.POSITIVE_INFINITY, most: Number.POSITIVE_INFINITY }

/**
 * Limits the time to read the body of this request. Reading it fails with BODY_TOO_SLOW when no byte arrives for
 * `seconds`, or when the client has kept the server waiting as long in total, plus a second for each 2,000 bytes that
 * arrived. However much arrives, the client may keep it waiting for `most` seconds.
 */
export function limitWaiting(request: Request, seconds: number, most = Number.POSITIVE_INFINITY): void {
  if (request.body) patience.set(request, { seconds, most })
}

/**
 * Yields the chunks of the body, and reads no more than the caller asks for.
 * @throws BODY_TOO_LARGE, at once when Content-Length is too large; BODY_BROKEN_OFF, BODY_TOO_SLOW
 */
export async function* chunksOf(request: Request, limit: number): AsyncGenerator<Uint8Array, void, void> {
  checkLength(request, limit)
  if (!request.body) return
  const { seconds, most } = patience.get(request) ?? UNLIMITED
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
  let bytes = 0
  let waitedMs = 0
  try {
    for (;;) {
      const began = performance.now()
      const allMs = Math.min(seconds + bytes / BYTES_A_SECOND, most) * 1000
      const leftMs = Math.min(seconds * 1000, allMs - waitedMs)
      const { done, value } = await inTime(reader.read(), leftMs, () => tooSlow(bytes))
      if (done) return
      waitedMs += performance.now() - began
      bytes += value.byteLength
      if (bytes > limit) throw tooLarge(limit)
      yield value
    }
  } catch (thrown) {
    if (codeOf(thrown)) throw thrown
    throw new HighkiqError('BODY_BROKEN_OFF', `the connection closed after ${bytes} bytes of the body`, undefined, {
      cause: thrown,
    })
  } finally {
    // The rest of the body is not read.
    await reader.cancel().catch(() => {})
    reader.releaseLock()
  }
}

async function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  if (ms === Number.POSITIVE_INFINITY) return work
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(ms, 0))
  })
  try {
    return await Promise.race([work, end])
  } finally {
    clearTimeout(timer)
  }
}

function tooSlow(bytes: number): HighkiqError {
  const message = `the body arrived too slowly and was abandoned after ${bytes} bytes: send it again`
  return new HighkiqError('BODY_TOO_SLOW', message)
}

/** @throws BODY_TOO_LARGE */
export function checkLength(request: Request, limit: number): void {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit)
}

function tooLarge(limit: number): HighkiqError {
  const message = `the body is larger than ${count(limit)} bytes: send less at a time, or allow more (limits)`
  return new HighkiqError('BODY_TOO_LARGE', message, { limit })
}

/** @throws BODY_TOO_LARGE, BODY_BROKEN_OFF, INVALID_REQUEST */
export async function readBody(request: Request, limit: number): Promise<unknown> {
  return parsed(await readText(request, limit), 'the body')
}

/** @throws BODY_TOO_LARGE, BODY_BROKEN_OFF, INVALID_REQUEST */
export async function readText(request: Request, limit: number): Promise<string> {
  return textOf(await bytesOf(request, limit))
}

async function bytesOf(request: Request, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of chunksOf(request, limit)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Returns an object, `{}` without a body. @throws what readBody throws */
export async function readObject(request: Request, limit: number): Promise<Record<string, unknown>> {
  const bytes = await bytesOf(request, limit)
  // Over HTTP/2 an empty body is known only at its end.
  if (bytes.length === 0) return {}
  const body = parsed(textOf(bytes), 'the body')
  if (isObject(body)) return body
  throw invalid('the body must be a JSON object')
}

/** A line of a body, with its number, counted from 1. */
export interface StreamItem {
  line: number
  value: unknown
  /** Whether the lines since the last such line should be stored now: they are many or long. */
  endsPart: boolean
}

/** The most lines of a part, and its most bytes, about. */
const PART_LINES = 1000
const PART_BYTES = 10_000_000

/** Yields each parsed line. A line has at most `lineLimit` bytes. A part ends with the line that reaches the limit. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  lineLimit: number,
): AsyncGenerator<StreamItem, void, void> {
  let line = 0
  let lines = 0
  let bytes = 0
  let rest: Uint8Array[] = []
  let length = 0
  const parseLine = (last: Uint8Array) => {
    const text = textOf(Buffer.concat([...rest, last])).trim()
    bytes += length + last.length
    rest = []
    length = 0
    line++
    if (text === '') return undefined
    lines++
    const endsPart = lines >= PART_LINES || bytes >= Math.min(lineLimit, PART_BYTES)
    if (endsPart) lines = bytes = 0
    return { line, value: parsed(text, `line ${line}`), endsPart }
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const value = parseLine(chunk.subarray(from, end))
      from = end + 1
      if (value) yield value
    }
    length += chunk.length - from
    if (length > lineLimit) throw tooLarge(lineLimit)
    if (from < chunk.length) rest.push(chunk.subarray(from))
  }
  const value = parseLine(new Uint8Array())
  if (value) yield value
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid('the body is not UTF-8')
  }
}

/** JavaScript reads a deeper value, but can't write it again. */
const MOST_BODY_LEVELS = 1000

function parsed(text: string, what: string): unknown {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (thrown) {
    throw invalid(`${what} is not JSON: ${messageOf(thrown)}`)
  }
  if (!isDeeperThan(MOST_BODY_LEVELS, text)) return value
  throw invalid(`${what} is nested deeper than ${count(MOST_BODY_LEVELS)} levels: send a flatter one`)
}
