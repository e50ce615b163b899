import { expect, test } from 'vitest'
import { full, unusable } from '../file/errors.ts'
import type { StoreFile } from '../file/store-file.ts'
import { pushInChunks } from './push.ts'

/** Pushes to a file whose writes throw this. Resolves with the error. */
function pushTo(thrown: Error) {
  const file = { options: { path: 'a.db' }, write: () => Promise.reject(thrown) } as unknown as StoreFile
  return pushInChunks(file, [1], () => []).catch((error: unknown) => error)
}

test('after an error of the disk a push may be stored, and after a full disk it is not', async () => {
  const broken = unusable('a.db', 10, new Error('disk I/O error'))
  expect(await pushTo(broken)).toMatchObject({ code: 'PUSH_FAILED', maybePushed: true, cause: broken })
  expect(await pushTo(full('a.db', new Error('database or disk is full')))).toMatchObject({ maybePushed: false })
})
