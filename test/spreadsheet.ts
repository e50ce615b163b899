/** Reads spreadsheets in unit tests, and sees what that leaves on the disk. */

import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openFile, type ReadFileOptions } from '../src/tasks/spreadsheet/file.ts'
import type { Source } from '../src/tasks/spreadsheet/source.ts'

/** Returns the header and the rows, each as [number, ...values]. */
export async function read(source: Source, options: ReadFileOptions = {}) {
  const { header, rows } = await openFile(source, options)
  const all: unknown[][] = []
  for await (const { number, values } of rows) all.push([number, ...Object.values(values)])
  return { header, rows: all }
}

export const readCsv = (source: Source, options: ReadFileOptions = {}) =>
  read(typeof source === 'string' ? Buffer.from(source) : source, { format: 'csv', ...options })

export const readXlsx = (source: Source, options: ReadFileOptions = {}) => read(source, { format: 'xlsx', ...options })

/** A folder for the files of a test file. Temporary copies go there, too. */
export class SpreadsheetFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'file-test-'))

  constructor() {
    const systemTemp = process.env.TMPDIR
    beforeAll(() => {
      process.env.TMPDIR = this.path
    })
    afterAll(() => {
      if (systemTemp === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = systemTemp
      rmSync(this.path, { recursive: true, force: true })
    })
  }

  at(name: string): string {
    return join(this.path, name)
  }

  /** Returns how many of its files this process has open; 0 where the system does not tell. */
  readonly openFiles = (): number => {
    if (!existsSync('/proc/self/fd')) return 0
    return readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(this.path)
      } catch {
        return false
      }
    }).length
  }

  /** Returns the names of the temporary copies. */
  spooled(): string[] {
    return readdirSync(this.path).filter((name) => name.startsWith('highkiq-'))
  }
}
