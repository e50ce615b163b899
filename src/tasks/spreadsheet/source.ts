import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { ReadableStream as NodeWebStream } from 'node:stream/web'
import { invalidFile, messageOf } from '../../job/errors.ts'

/** A file to read: its path, its bytes, or a stream. */
export type Source = string | Uint8Array | ReadableStream<Uint8Array> | NodeJS.ReadableStream

/** A source that was opened and whose first bytes are known. */
export interface OpenSource {
  /** At least the first 512 bytes, or all of them when there are fewer. */
  head: Uint8Array
  /** Set when the source is a file. */
  path?: string
  /** Set when the whole source is in memory. */
  bytes?: Uint8Array
  /** All bytes, the head included. To be called once. */
  chunks(): AsyncGenerator<Uint8Array, void, void>
  /** The SHA-256 of all bytes in hex, if it is known. */
  digest?: string
  /** Closes the file, also during a read, and removes a temporary copy. A stream that the app gave stays open. */
  close(): Promise<void>
}

// Enough for every magic number, byte order mark and beginning of a page.
const HEAD_BYTES = 512

// Larger than the default: fewer reads make a big file noticeably faster.
const CHUNK_BYTES = 256 * 1024

/**
 * Opens a source and reads its first bytes.
 * @throws HighkiqError INVALID_FILE when a path can't be opened; whatever a given stream fails with.
 */
export async function openSource(source: Source): Promise<OpenSource> {
  const { iterator, close } = readingOf(source)
  const read: Uint8Array[] = []
  let length = 0
  try {
    while (length < HEAD_BYTES) {
      const next = await iterator.next()
      if (next.done) break
      const chunk = asBytes(next.value)
      read.push(chunk)
      length += chunk.length
    }
  } catch (error) {
    close()
    if (typeof source !== 'string') throw error
    throw invalidFile(`the file can't be opened (${messageOf(error)}): check its path`, undefined, { cause: error })
  }
  const head = read.length === 1 ? (read[0] as Uint8Array) : Buffer.concat(read)
  return {
    head,
    path: typeof source === 'string' ? source : undefined,
    bytes: source instanceof Uint8Array ? source : undefined,
    async *chunks() {
      if (head.length > 0) yield head
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield asBytes(next.value)
    },
    async close() {
      close()
    },
  }
}

interface Reading {
  iterator: AsyncIterator<Uint8Array | string>
  close(): void
}

/**
 * Starts to read a source. A stream that the app gave is never destroyed or cancelled: it may be the request that the app
 * still has to answer.
 */
function readingOf(source: Source): Reading {
  if (source instanceof Readable) {
    // An error after the reading has ended early would have no listener, and so end the process.
    source.on('error', () => {})
    return given(source.iterator({ destroyOnReturn: false }))
  }
  if (typeof source === 'object' && 'getReader' in source) {
    return given((source as NodeWebStream<Uint8Array>).values({ preventCancel: true }))
  }
  const stream = streamOf(source)
  return { iterator: stream[Symbol.asyncIterator](), close: () => void stream.destroy() }
}

function given(iterator: AsyncIterator<Uint8Array | string>): Reading {
  // It is not awaited, because a read that waits for the stream comes first.
  return { iterator, close: () => void iterator.return?.().catch(() => {}) }
}

function streamOf(source: string | Uint8Array | NodeJS.ReadableStream): Readable {
  if (typeof source === 'string') return createReadStream(source, { highWaterMark: CHUNK_BYTES })
  if (source instanceof Uint8Array) return Readable.from(slices(source))
  return new Readable().wrap(source)
}

function* slices(bytes: Uint8Array): Generator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES)
}

// A stream on which the app called setEncoding() yields strings.
function asBytes(chunk: Uint8Array | string): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk) : chunk
}
