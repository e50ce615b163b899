/** The folder that the demo writes to. */

import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join, relative, resolve, sep } from 'node:path'
import { HighkiqError } from '../../index.ts'
import { messageOf } from '../../job/errors.ts'
import { quoted } from '../open-app.ts'

export interface Folder {
  queue: string
  catalogue: string
  /** The workbook that the demo makes. */
  products: string
  /** The rejected rows of `file`, or of the demo's own workbook. */
  report: string
}

/** Whoever finds this file in a folder knows that the demo may write over what it wrote before. */
const MARK = '.highkiq-demo'
const MARK_TEXT = 'Made by `highkiq demo`: each run writes its queue, catalogue, workbook and report anew.\n'

/** Makes the folder, and removes what an earlier run left. @throws INVALID_OPTION rather than touch files of others */
export async function openFolder(path: string, file?: string): Promise<Folder> {
  const stem = file === undefined ? 'products' : basename(file, extname(file))
  const folder: Folder = {
    queue: join(path, 'queue.db'),
    catalogue: join(path, 'catalogue.db'),
    products: join(path, 'products.xlsx'),
    report: join(path, `${stem}-rejected.xlsx`),
  }
  const stale = [...databaseFiles(folder.queue), ...databaseFiles(folder.catalogue), folder.report]
  if (file === undefined) stale.push(folder.products)
  const foreign = existsSync(join(path, MARK)) ? undefined : stale.find((one) => existsSync(one))
  const own = file === undefined ? undefined : stale.find((one) => resolve(one) === resolve(file))
  if (foreign) {
    throw new HighkiqError(
      'INVALID_OPTION',
      `${foreign} was not made by the demo and would be lost: choose another folder with --out`,
    )
  }
  if (own) {
    throw new HighkiqError('INVALID_OPTION', `${own} would be written over: choose another folder with --out`)
  }
  try {
    await makeFolder(resolve(path))
    await writeFile(join(path, MARK), MARK_TEXT)
    for (const one of stale) await rm(one, { force: true })
  } catch (thrown) {
    const message = `${path} can't be written to (${messageOf(thrown)}): choose another folder with --out`
    throw new HighkiqError('INVALID_OPTION', message, undefined, { cause: thrown })
  }
  return folder
}

function databaseFiles(path: string): string[] {
  return [path, `${path}-wal`, `${path}-shm`, `${path}-queue`]
}

/** As one would type it here. */
export function shown(path: string): string {
  const near = relative('', path)
  return quoted(near === '' || near.startsWith(`..${sep}..`) ? resolve(path) : near)
}

/** With its parents. (Node's own `recursive` never comes back where the system refuses with ENOENT, as under /proc.) */
async function makeFolder(path: string): Promise<void> {
  if (existsSync(path)) return
  await makeFolder(dirname(path))
  await mkdir(path)
}
