/** Keeps the rows of an export's pages, compressed, until its file is downloaded: in the store or in a folder. */

import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { deflate, inflate } from 'node:zlib'
import { HighkiqError, Kill } from '../job/errors.ts'
import { parseJson, stringifyJson } from '../job/json.ts'
import { taskJid } from '../job/payload.ts'
import { type AttemptRef, isInAttempt, type Store } from '../store/contract.ts'
import { retryTransient } from './rows.ts'
import type { ExportRow } from './spreadsheet/export-file.ts'

/** The most bytes that the parts of one task take in the store. */
const MOST_STORED_BYTES = 512 * 1024 * 1024
/** The fastest level, since pages are compressed while others are computed. */
const LEVEL = 1

const pack = promisify(deflate)
const unpack = promisify(inflate)

/** The rows of one page. */
export type PageRows = readonly ExportRow[]

export interface Parts {
  /** Stores a page, unless its row is in another attempt. */
  put(index: number, rows: PageRows, by: AttemptRef): Promise<void>
  /** Returns a page, or null if there is none. */
  get(index: number): Promise<PageRows | null>
}

/** Returns the parts of a task in `dir`; without it in the store. */
export function partsOf(store: Store, task: string, dir: string | undefined): Parts {
  return dir === undefined ? storedParts(store, task) : partFiles(store, task, join(dir, task))
}

export async function removeFolder(dir: string, task: string): Promise<void> {
  await rm(join(dir, task), { recursive: true, force: true })
}

function storedParts({ tasks }: Store, task: string): Parts {
  return {
    async put(index, rows, by) {
      const bytes = await packed(rows)
      const answer = await retryTransient(() => tasks.putPart(task, index, bytes, MOST_STORED_BYTES, by))
      // The page of a deleted task, or of another attempt, is not needed.
      if (answer !== 'full') return
      throw new Kill(
        `the export has more than ${MOST_STORED_BYTES / 2 ** 20} MB (compressed), which is too much for the store: give tasks.export a folder with the option artifacts`,
      )
    },
    async get(index) {
      const bytes = await retryTransient(() => tasks.part(task, index))
      return bytes && unpacked(bytes)
    },
  }
}

/** Stores each part as a file, which gets its name when it is complete. */
function partFiles({ tasks }: Store, task: string, folder: string): Parts {
  const pathOf = (index: number) => join(folder, `${index}.part`)
  return {
    async put(index, rows, by) {
      const event = await retryTransient(() => tasks.event(taskJid(task, index)))
      if (!event || !isInAttempt(event, by)) return
      const part = `${pathOf(index)}.${randomUUID()}`
      await mkdir(folder, { recursive: true })
      try {
        await writeFile(part, await packed(rows))
        await rename(part, pathOf(index))
      } catch (thrown) {
        await rm(part, { force: true })
        throw thrown
      }
    },
    async get(index) {
      try {
        return await unpacked(await readFile(pathOf(index)))
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
        const message = `part ${index} of the export can't be read in ${folder}`
        throw new HighkiqError('REPORT_FAILED', message, undefined, { cause })
      }
    },
  }
}

async function packed(rows: PageRows): Promise<Uint8Array> {
  return pack(stringifyJson(rows), { level: LEVEL })
}

async function unpacked(bytes: Uint8Array): Promise<PageRows> {
  return parseJson((await unpack(bytes)).toString()) as PageRows
}
