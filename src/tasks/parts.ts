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
export const MOST_STORED_BYTES = 512 * 1024 * 1024
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
  return dir === undefined ? new StoredParts(store, task) : new PartFiles(store, task, join(dir, task))
}

export async function removeFolder(dir: string, task: string): Promise<void> {
  await rm(join(dir, task), { recursive: true, force: true })
}

class StoredParts implements Parts {
  readonly #store: Store
  readonly #task: string

  constructor(store: Store, task: string) {
    this.#store = store
    this.#task = task
  }

  async put(index: number, rows: PageRows, by: AttemptRef): Promise<void> {
    const bytes = await packed(rows)
    const answer = await retryTransient(() =>
      this.#store.tasks.putPart(this.#task, index, bytes, MOST_STORED_BYTES, by),
    )
    // The page of a deleted task, or of another attempt, is not needed.
    if (answer !== 'full') return
    throw new Kill(
      `the export has more than ${MOST_STORED_BYTES / 2 ** 20} MB (compressed), which is too much for the store: give tasks.export a folder with the option artifacts`,
    )
  }

  async get(index: number): Promise<PageRows | null> {
    const bytes = await retryTransient(() => this.#store.tasks.part(this.#task, index))
    return bytes && unpacked(bytes)
  }
}

/** Stores each part as a file, which gets its name when it is complete. */
class PartFiles implements Parts {
  readonly #store: Store
  readonly #task: string
  readonly #folder: string

  constructor(store: Store, task: string, folder: string) {
    this.#store = store
    this.#task = task
    this.#folder = folder
  }

  async put(index: number, rows: PageRows, by: AttemptRef): Promise<void> {
    const event = await retryTransient(() => this.#store.tasks.event(taskJid(this.#task, index)))
    if (!event || !isInAttempt(event, by)) return
    const path = this.#path(index)
    const part = `${path}.${randomUUID()}`
    await mkdir(this.#folder, { recursive: true })
    try {
      await writeFile(part, await packed(rows))
      await rename(part, path)
    } catch (thrown) {
      await rm(part, { force: true })
      throw thrown
    }
  }

  async get(index: number): Promise<PageRows | null> {
    try {
      return await unpacked(await readFile(this.#path(index)))
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw new HighkiqError(
        'REPORT_FAILED',
        `part ${index} of the export can't be read in ${this.#folder}`,
        undefined,
        {
          cause: thrown,
        },
      )
    }
  }

  #path(index: number): string {
    return join(this.#folder, `${index}.part`)
  }
}

async function packed(rows: PageRows): Promise<Uint8Array> {
  return pack(stringifyJson(rows), { level: LEVEL })
}

async function unpacked(bytes: Uint8Array): Promise<PageRows> {
  return parseJson((await unpack(bytes)).toString()) as PageRows
}
