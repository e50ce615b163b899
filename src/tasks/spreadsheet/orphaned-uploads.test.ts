import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { openSource } from './source.ts'
import { spooled } from './spool.ts'

const OLD = new Date(Date.now() - 2 * 86_400_000)

/** Makes a folder for temporary files. */
function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'orphaned-uploads-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Makes what a process leaves behind: a folder with a copy. */
function left(folder: string, name: string, when?: Date): string {
  const path = join(folder, name)
  mkdirSync(path, { mode: 0o700 })
  writeFileSync(join(path, 'upload'), 'sku')
  if (when) for (const one of [join(path, 'upload'), path]) utimesSync(one, when, when)
  return path
}

/** Copies a stream there, and returns the names of all folders while the copy exists. */
async function copyThere(folder: string): Promise<string[]> {
  const copy = await spooled(await openSource(Readable.from([Buffer.from('sku')])), folder)
  const names = readdirSync(folder)
  await copy.close()
  return names
}

test('a copy of another machine or container is removed when it is a day old', async () => {
  const folder = temporary()
  const old = left(folder, 'highkiq-upload-0123456789ab-1-1-abcdef', OLD)
  const unknown = left(folder, 'highkiq-upload-unknown-abcdef', OLD)
  const fresh = left(folder, 'highkiq-upload-0123456789ab-1-1-ghijkl')
  await copyThere(folder)
  expect([old, unknown, fresh].map(existsSync)).toEqual([false, false, true])
})

test('links, files, folders that others may write to, other names and other contents stay', async () => {
  const folder = temporary()
  const outside = left(folder, 'outside', OLD)
  const name = (end: string) => `highkiq-upload-unknown-${end}`
  symlinkSync(outside, join(folder, name('linked')))
  writeFileSync(join(folder, name('a-file')), '')
  writeFileSync(join(folder, name('isfile')), '')
  chmodSync(left(folder, name('shared'), OLD), 0o777)
  left(folder, 'highkiq-abcdef', OLD)
  const filled = left(folder, name('filled'))
  writeFileSync(join(filled, 'else'), '')
  for (const one of [join(filled, 'upload'), filled]) utimesSync(one, OLD, OLD)
  const before = readdirSync(folder)
  const after = await copyThere(folder)
  expect(after).toEqual(expect.arrayContaining(before))
  expect(existsSync(join(outside, 'upload'))).toBe(true)
  expect(existsSync(join(filled, 'else'))).toBe(true)
})

test('nothing is removed from a folder in which other users may rename what is there', async () => {
  const folder = temporary()
  const old = left(folder, 'highkiq-upload-unknown-abcdef', OLD)
  chmodSync(folder, 0o777)
  await copyThere(folder)
  expect(existsSync(old)).toBe(true)
  const sticky = temporary()
  const there = left(sticky, 'highkiq-upload-unknown-abcdef', OLD)
  chmodSync(sticky, 0o1777)
  await copyThere(sticky)
  expect(existsSync(there)).toBe(false)
})
