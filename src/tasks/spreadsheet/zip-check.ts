import { pipeline } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'
import { type Entry, fromBufferPromise, openPromise, type ZipFile } from 'yauzl'
import { HighkiqError, invalidFile, messageOf } from '../../job/errors.ts'
import { shown } from '../../job/options.ts'
import { count } from '../../job/plural.ts'

const MAX_TOTAL_BYTES = 4 * 1024 ** 3
const MAX_RATIO = 1000
// Below this size a file may have any rate of compression.
const MAX_UNCHECKED_BYTES = 100 * 1024 ** 2
// Far more parts than a workbook has. Each is kept in memory, and a table of contents may be as long as an upload.
const MAX_ENTRIES = 50_000
// The names, extra fields and comments of all parts: those of 50,000 pictures take a quarter of this.
const MAX_CONTENTS_BYTES = 16 * 1024 ** 2

/** A zip archive whose table of contents was read and checked. */
export interface CheckedZip {
  /** The entries by name in lower case: names in an Office file are not case sensitive. */
  entries: Map<string, Entry>
  /** Yields the unpacked content of an entry, checked against its size and checksum. */
  content(entry: Entry): AsyncGenerator<Buffer, void, void>
  close(): void
}

/**
 * Opens a zip archive from a path or from memory.
 * @throws HighkiqError INVALID_FILE if it is damaged, cut off, encrypted, or a zip bomb.
 */
export async function openZip(file: string | Uint8Array): Promise<CheckedZip> {
  let zip: ZipFile | undefined
  const entries = new Map<string, Entry>()
  try {
    zip =
      typeof file === 'string'
        ? await openPromise(file, { autoClose: false })
        : await fromBufferPromise(Buffer.from(file.buffer, file.byteOffset, file.byteLength), { autoClose: false })
    if (zip.entryCount > MAX_ENTRIES) {
      throw invalidFile(`the file has more than ${count(MAX_ENTRIES)} parts: remove its pictures, or save it as CSV`, {
        problem: 'too-many-parts',
      })
    }
    let total = 0
    let contents = 0
    for await (const entry of zip.eachEntry()) {
      total += entry.uncompressedSize
      checkEntry(entry, total)
      contents += entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength
      if (contents > MAX_CONTENTS_BYTES) {
        throw invalidFile('the names and comments of the parts of the file take more than 16 MB: save it as CSV', {
          problem: 'too-many-parts',
        })
      }
      // Nothing reads them, and they take fifty times as much memory as their bytes.
      entry.extraFields = []
      const name = entry.fileName.toLowerCase()
      if (entries.has(name)) throw twice(entry)
      entries.set(name, entry)
    }
  } catch (error) {
    zip?.close()
    throw damaged(error)
  }
  const opened = zip
  return { entries, content: (entry) => content(opened, entry), close: () => opened.close() }
}

function checkEntry(entry: Entry, total: number): void {
  if (entry.isEncrypted()) {
    throw invalidFile('the file is password-protected: save it without a password', { problem: 'password' })
  }
  const ratio = entry.uncompressedSize / Math.max(entry.compressedSize, 1)
  if (total > MAX_TOTAL_BYTES || (entry.uncompressedSize > MAX_UNCHECKED_BYTES && ratio > MAX_RATIO)) {
    const message = `the file would unpack to more than is safe (${entry.fileName}): split it, or save it as CSV`
    throw invalidFile(message, { problem: 'too-large', entry: entry.fileName })
  }
}

/** Returns the error for two parts of one name: programs disagree about which one they read. */
function twice({ fileName }: Entry): HighkiqError {
  const message = `the file is damaged (it has two parts named ${shown(fileName)}): open it in Excel and save it again`
  return invalidFile(message, { problem: 'damaged', entry: fileName })
}

// Far larger than the default: unpacking in small pieces takes three times as long.
const PIECE_BYTES = 256 * 1024

async function* content(zip: ZipFile, entry: Entry): AsyncGenerator<Buffer, void, void> {
  let sum = 0
  let size = 0
  try {
    const stored = entry.compressionMethod !== 8
    const bytes = await zip.openReadStreamPromise(entry, stored ? {} : { decodeFileData: false })
    // Leaving the loop destroys the last stream, and `pipeline` the one before it.
    const unpacked = stored ? bytes : pipeline(bytes, createInflateRaw({ chunkSize: PIECE_BYTES }), () => {})
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      sum = crc32(chunk, sum)
      size += chunk.length
      if (size > entry.uncompressedSize) break
      yield chunk
    }
  } catch (error) {
    throw damaged(error)
  }
  if (size !== entry.uncompressedSize) throw damaged(new Error(`wrong size of ${entry.fileName}`))
  if (sum !== entry.crc32) throw damaged(new Error(`wrong checksum of ${entry.fileName}`))
}

/** Returns the error as INVALID_FILE, unless it is a HighkiqError or comes from the disk. */
export function damaged(error: unknown): unknown {
  if (error instanceof HighkiqError || (error as NodeJS.ErrnoException).syscall) return error
  const message = `the file is damaged or cut off (${messageOf(error).replace(/\s+/g, ' ')}): copy or save it again`
  return invalidFile(message, { problem: 'damaged' }, { cause: error })
}
