/** Writes a zip archive piece by piece. */

import { pipeline } from 'node:stream/promises'
import { crc32, createDeflateRaw } from 'node:zlib'
import { HighkiqError } from '../../job/errors.ts'

export interface ZipEntry {
  name: string
  /** The content of a text file. */
  texts: Iterable<string> | AsyncIterable<string>
}

interface Written {
  name: Buffer
  sum: number
  size: number
  packed: number
  /** Where the entry begins. */
  at: number
}

const PIECE_BYTES = 64 * 1024
/** The default, 6, takes nearly twice as long for at most 1 % fewer bytes. */
const LEVEL = 5
/** An archive without the extension Zip64 has at most this many bytes, and so has each of its files. */
const MOST_BYTES = 0xffff_ffff
const VERSION = 20
/** Names are UTF-8, and sizes and checksum come after the content. */
const FLAGS = 0x0808
const DEFLATED = 8
/** 1 January 1980: the same rows give the same file. */
const DATE = 33

/** Reads each entry only as fast as it is written. @throws REPORT_FAILED for more than 4 GiB; whatever the entries throw */
export async function* zipBytes(
  entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>,
): AsyncGenerator<Uint8Array, void, void> {
  const all: Written[] = []
  let at = 0
  for await (const { name, texts } of entries) {
    const entry: Written = { name: Buffer.from(name), sum: 0, size: 0, packed: 0, at }
    const header = headerOf(entry)
    yield header
    yield* deflated(texts, entry)
    const sizes = sizesOf(entry)
    yield sizes
    at += header.length + entry.packed + sizes.length
    if (at > MOST_BYTES || entry.size > MOST_BYTES) {
      const message = 'the workbook has more than 4 GiB, which spreadsheet programs do not open: write CSV'
      throw new HighkiqError('REPORT_FAILED', message)
    }
    all.push(entry)
  }
  yield directoryOf(all, at)
}

async function* deflated(texts: ZipEntry['texts'], entry: Written): AsyncGenerator<Uint8Array, void, void> {
  async function* pieces() {
    for await (const text of texts) {
      const bytes = Buffer.from(text)
      entry.sum = crc32(bytes, entry.sum)
      entry.size += bytes.length
      yield bytes
    }
  }
  const deflate = createDeflateRaw({ level: LEVEL, chunkSize: PIECE_BYTES })
  const read = pipeline(pieces, deflate)
  // Its error is thrown below, by the loop.
  read.catch(() => {})
  for await (const bytes of deflate) {
    entry.packed += bytes.length
    yield bytes
  }
  await read
}

function headerOf({ name }: Written): Buffer {
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x0403_4b50, 0)
  writeAbout(header, 4)
  header.writeUInt16LE(name.length, 26)
  return Buffer.concat([header, name])
}

/** Writes version, flags, method, time and date. */
function writeAbout(target: Buffer, at: number): void {
  for (const [i, value] of [VERSION, FLAGS, DEFLATED, 0, DATE].entries()) target.writeUInt16LE(value, at + 2 * i)
}

function sizesOf({ sum, packed, size }: Written): Buffer {
  const sizes = Buffer.alloc(16)
  for (const [i, value] of [0x0807_4b50, sum, packed, size].entries()) sizes.writeUInt32LE(value >>> 0, 4 * i)
  return sizes
}

function directoryOf(all: readonly Written[], at: number): Buffer {
  const entries = all.map((entry) => {
    const head = Buffer.alloc(46)
    head.writeUInt32LE(0x0201_4b50, 0)
    head.writeUInt16LE(VERSION, 4)
    writeAbout(head, 6)
    sizesOf(entry).copy(head, 16, 4)
    head.writeUInt16LE(entry.name.length, 28)
    head.writeUInt32LE(entry.at, 42)
    return Buffer.concat([head, entry.name])
  })
  const directory = Buffer.concat(entries)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x0605_4b50, 0)
  end.writeUInt16LE(all.length, 8)
  end.writeUInt16LE(all.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([directory, end])
}
