/** The folder that the demo writes to. */

import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { HighkiqError } from 'highkiq'

/** This file in a folder allows the demo to replace the files of its earlier runs. */
const FLAG = '.highkiq-demo'
const FLAG_TEXT = 'Made by `highkiq demo`: each run replaces its queue, catalogue, workbook and report.\n'

/** Creates the folder and removes the files of an earlier run. @throws INVALID_OPTION when a file is not the demo's */
export async function openFolder(path, file) {
  const stem = file === undefined ? 'products' : basename(file, extname(file))
  const folder = {
    queue: join(path, 'queue.db'),
    catalogue: join(path, 'catalogue.db'),
    products: join(path, 'products.xlsx'),
    report: join(path, `${stem}-rejected.xlsx`),
  }
  const stale = [...databaseFiles(folder.queue), ...databaseFiles(folder.catalogue), folder.report]
  if (file === undefined) stale.push(folder.products)
  const foreign = existsSync(join(path, FLAG)) ? undefined : stale.find((one) => existsSync(one))
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
    await writeFile(join(path, FLAG), FLAG_TEXT)
    for (const one of stale) await rm(one, { force: true })
  } catch (thrown) {
    const message = `${path} can't be written to (${thrown.message}): choose another folder with --out`
    throw new HighkiqError('INVALID_OPTION', message, undefined, { cause: thrown })
  }
  return folder
}

function databaseFiles(path) {
  return [path, `${path}-wal`, `${path}-shm`, `${path}-queue`]
}

/** Creates a folder with its parents. (Node's `recursive` never returns where the system refuses with ENOENT, as in /proc.) */
async function makeFolder(path) {
  if (existsSync(path)) return
  await makeFolder(dirname(path))
  await mkdir(path)
}
