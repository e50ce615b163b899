/** Decodes bytes: finds their encoding, and where they stop being valid. */

import { isAscii, isUtf8 } from 'node:buffer'
import { type HighkiqError, invalidFile, invalidOption } from '../../job/errors.ts'
import { shown } from '../../job/options.ts'
import { guessEncoding, type Reading } from './encoding-guess.ts'
import type { OpenSource } from './source.ts'

/** What reading found: the encoding, why the text ended before the file, and which part of the file holds the rows. */
export interface Findings {
  problem?: 'encoding' | 'nul'
  /** The encoding of the file. */
  encoding?: string
  /** Offset from the start of the file, in UTF-8. */
  byte?: number
  /** The delimiter of a CSV file. */
  delimiter?: string
  /** The sheet of a workbook that is read. */
  sheet?: string
  /** All sheets of a workbook, in order. */
  sheets?: string[]
}

/** The number of bytes, from the first one above 127 on, that decide the encoding. */
const SAMPLE_BYTES = 64 * 1024

/**
 * Yields the text of a source, piece by piece, in the `stated` encoding; otherwise by its byte order mark, as UTF-16 by
 * its zero bytes, as UTF-8, or in the encoding in which it reads well. If several are possible, `likely` decides if it is
 * one of them. The text ends before the first invalid character or NUL, and `found` says so.
 * @throws INVALID_OPTION: no such encoding; INVALID_FILE: several encodings are possible
 */
export async function* decoded(
  source: OpenSource,
  stated: string | undefined,
  found: Findings,
  likely?: string,
): AsyncGenerator<string, void, void> {
  for await (const text of textOf(source, stated === undefined ? undefined : labelOf(stated), found, likely)) {
    const nul = text.indexOf('\0')
    if (nul === -1) {
      yield text
      continue
    }
    found.problem = 'nul'
    delete found.byte
    yield text.slice(0, nul)
    return
  }
}

function labelOf(stated: string): string {
  try {
    const { encoding } = new TextDecoder(stated)
    // One decoder reads both.
    return encoding === 'gbk' ? 'gb18030' : encoding
  } catch {
    const message = `encoding ${JSON.stringify(stated)} is not known: for instance utf-8, utf-16le, gb18030, windows-1252`
    throw invalidOption(message)
  }
}

async function* textOf(
  source: OpenSource,
  stated: string | undefined,
  found: Findings,
  likely: string | undefined,
): AsyncGenerator<string> {
  const chunks = source.chunks()
  found.encoding = stated ?? byByteOrder(source.head) ?? byZeros(source.head)
  if (found.encoding === undefined) {
    let lines = 0
    // ASCII says nothing about the encoding of what follows.
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      const chunk = next.value
      if (isAscii(chunk)) {
        yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
        found.byte = (found.byte ?? 0) + chunk.length
        lines += linesIn(chunk)
        continue
      }
      const sample = await enlarged(chunk, chunks)
      found.encoding = encodingOf(sample, lines, likely)
      yield* found.encoding === 'utf-8' ? utf8(sample, chunks, found) : others(sample, chunks, found)
      return
    }
    found.encoding = 'utf-8'
    return
  }
  const first = await chunks.next()
  if (first.done) return
  yield* found.encoding === 'utf-8' ? utf8(first.value, chunks, found) : others(first.value, chunks, found)
}

const GB18030_MARK = [0x84, 0x31, 0x95, 0x33]

function byByteOrder(head: Uint8Array): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be'
  if (GB18030_MARK.every((byte, index) => head[index] === byte)) return 'gb18030'
  return head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 'utf-8' : undefined
}

/** UTF-16 without a mark: delimiters and line ends have a zero byte, always on the same side. */
function byZeros(head: Uint8Array): string | undefined {
  const sample = head.subarray(0, 1024 & ~1)
  const zeros = [0, 0]
  for (const [i, byte] of sample.entries()) if (byte === 0) zeros[i % 2] = (zeros[i % 2] as number) + 1
  const [even, odd] = zeros as [number, number]
  // A character above FF may have its zero on the other side.
  const most = Math.max(even, odd)
  if (most < Math.max(2, sample.length / 16) || most < 4 * Math.min(even, odd)) return undefined
  return odd > even ? 'utf-16le' : 'utf-16be'
}

async function enlarged(chunk: Uint8Array, chunks: AsyncGenerator<Uint8Array, void, void>): Promise<Uint8Array> {
  const all = [chunk]
  let length = chunk.length
  while (length < SAMPLE_BYTES) {
    const next = await chunks.next()
    if (next.done) break
    all.push(next.value)
    length += next.value.length
  }
  return all.length === 1 ? chunk : Buffer.concat(all)
}

/**
 * Returns the encoding of the bytes: UTF-8, even if some bytes are wrong, or the one in which they read well. If none
 * fits it returns UTF-8, so that decoding reports the first wrong byte. @throws INVALID_FILE: several are possible
 */
function encodingOf(bytes: Uint8Array, linesBefore: number, likely: string | undefined): string {
  const first = bytes.findIndex((byte) => byte > 0x7f)
  const start = bytes.subarray(0, first).lastIndexOf(LF) + 1
  const sample = bytes.subarray(start, start + SAMPLE_BYTES)
  if (isMostlyUtf8(sample)) return 'utf-8'
  const [best, ...rivals] = guessEncoding(sample, likely)
  if (!best) return 'utf-8'
  if (rivals.length > 0) throw unclear([best, ...rivals], linesBefore + linesIn(bytes.subarray(0, start)))
  return best.encoding
}

function isMostlyUtf8(sample: Uint8Array): boolean {
  if (isUtf8(sample.subarray(0, wholeCharacters(sample)))) return true
  const special = Buffer.from(sample).toString().replace(ASCII, '')
  const wrong = special.split('\uFFFD').length - 1
  // A few pairs of other encodings are valid UTF-8.
  return special.length - wrong >= 2 * wrong
}

const LF = 0x0a
const ASCII = /[\0-\x7f]+/g

const linesIn = (bytes: Uint8Array) => bytes.reduce((count, byte) => (byte === LF ? count + 1 : count), 0)

const MOST_READINGS = 3

/** Names the first cell that differs between the two best readings, and what up to three readings have there. */
function unclear(readings: readonly Reading[], linesBefore: number): HighkiqError {
  const different = readings.filter(({ text }, index) => readings.findIndex((one) => one.text === text) === index)
  const likeliest = different.slice(0, MOST_READINGS)
  const lines = likeliest.map(({ text }) => text.split('\n'))
  const [best, rival] = lines as [string[], string[]]
  const at = best.findIndex((line, index) => line !== rival[index])
  const cells = lines.map((all) => (all[at] ?? '').split(CELL_END))
  const cell = (cells[0] as string[]).findIndex((one, index) => one !== cells[1]?.[index])
  const is = likeliest.map(({ encoding }, index) => `${shown((cells[index]?.[cell] ?? '').trim())} in ${encoding}`)
  const encodings = likeliest.map(({ encoding }) => encoding)
  const row = linesBefore + at + 1
  const all = `${is.slice(0, -1).join(', ')}, and ${is.at(-1)}`
  const hint = `set encoding: ${encodings[0]}`
  const message = `line ${row}: the encoding is not clear: a cell is ${all}: ${hint}, or another one`
  return invalidFile(message, {
    ...{ problem: 'unclear-encoding', row, encodings },
    ...{ option: 'encoding', value: encodings[0], hint },
  })
}

const CELL_END = /[,;\t|"\r]/

/** Returns how many of the bytes are complete UTF-8 characters, without a cut last one. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) break
    if (byte < 0xc0) continue
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return needs > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

const MARK = Buffer.from('\uFEFF')
const MARK_OF_TEXT = /^\uFEFF/

async function* utf8(first: Uint8Array, rest: AsyncGenerator<Uint8Array, void, void>, found: Findings) {
  let at = found.byte ?? 0
  let bytes = Buffer.from(first.buffer, first.byteOffset, first.length)
  if (at === 0 && bytes.subarray(0, 3).equals(MARK)) {
    bytes = bytes.subarray(3)
    at = 3
  }
  for (;;) {
    const next = await rest.next()
    const length = next.done ? bytes.length : wholeCharacters(bytes)
    const whole = bytes.subarray(0, length)
    if (!isUtf8(whole)) {
      const good = validBytes(whole)
      found.problem = 'encoding'
      found.byte = at + good
      yield whole.toString('utf8', 0, good)
      return
    }
    yield whole.toString('utf8')
    if (next.done) return
    at += length
    const left = bytes.subarray(length)
    bytes = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length)
    if (left.length > 0) bytes = Buffer.concat([left, bytes])
  }
}

/** Returns the number of bytes before the first one that is not UTF-8. */
function validBytes(bytes: Buffer): number {
  let low = 0
  let high = bytes.length
  // The longest beginning that is valid but for a last character that is cut.
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (isUtf8(bytes.subarray(0, wholeCharacters(bytes.subarray(0, middle))))) low = middle
    else high = middle - 1
  }
  return wholeCharacters(bytes.subarray(0, low))
}

async function* others(first: Uint8Array, rest: AsyncGenerator<Uint8Array, void, void>, found: Findings) {
  const encoding = found.encoding as string
  const decoder = new TextDecoder(encoding, { fatal: true })
  let tail: Uint8Array = new Uint8Array()
  let isStart = !found.byte
  delete found.byte
  try {
    for (let chunk: Uint8Array | undefined = first; chunk; chunk = (await rest.next()).value ?? undefined) {
      const text = textBefore(decoder, chunk, tail, found)
      // The decoder of UTF-16 leaves the mark out by itself.
      yield isStart ? text.replace(MARK_OF_TEXT, '') : text
      isStart &&= text === ''
      if (found.problem) return
      tail = chunk.subarray(-8)
    }
    try {
      yield decoder.decode()
    } catch {
      found.problem = 'encoding'
    }
  } finally {
    await rest.return()
  }
}

function textBefore(
  decoder: InstanceType<typeof TextDecoder>,
  chunk: Uint8Array,
  tail: Uint8Array,
  found: Findings,
): string {
  try {
    return decoder.decode(chunk, { stream: true })
  } catch {
    found.problem = 'encoding'
    const lenient = new TextDecoder(decoder.encoding)
    // The end of the piece before completes a character that was cut in two.
    lenient.decode(tail, { stream: true })
    return lenient.decode(chunk).split('\uFFFD', 1)[0] as string
  }
}
