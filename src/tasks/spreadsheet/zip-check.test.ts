import { expect, test } from 'vitest'
import { zipOf } from '../../../test/zip.ts'
import { openZip } from './zip-check.ts'

async function contentOf(bytes: Uint8Array, name: string): Promise<string> {
  const zip = await openZip(bytes)
  const entry = zip.entries.get(name)
  if (!entry) throw new Error(`no ${name}`)
  const chunks: Buffer[] = []
  for await (const chunk of zip.content(entry)) chunks.push(chunk)
  zip.close()
  return Buffer.concat(chunks).toString()
}

test('parts are found regardless of the case of their names', async () => {
  expect(await contentOf(zipOf({ name: 'xl/Workbook.XML', content: 'hello' }), 'xl/workbook.xml')).toBe('hello')
})

test.each([
  ['encrypted', zipOf({ name: 'a', content: 'x', flags: 1 }), 'password'],
  ['cut off', zipOf({ name: 'a', content: 'x' }).subarray(0, -30), 'damaged or cut off'],
  ['not a zip', Buffer.from('PK\x03\x04 and then only words, far too few of them'), 'damaged or cut off'],
  [
    'over 4 GB in all',
    zipOf(
      { name: 'a', content: 'x', size: 3e9, packedSize: 3e8 },
      { name: 'b', content: 'x', size: 3e9, packedSize: 3e8 },
    ),
    'more than is safe',
  ],
  [
    'of 60,000 parts',
    zipOf(...Array.from({ length: 60_000 }, (_, i) => ({ name: `xl/media/${i}`, content: '' }))),
    'has more than 50,000 parts',
  ],
  [
    'of parts with long names',
    zipOf(...Array.from({ length: 300 }, (_, i) => ({ name: `${i}`.padEnd(60_000, '.'), content: '' }))),
    'take more than 16 MB',
  ],
  ['packed 1:5000', zipOf({ name: 'a', content: 'x', size: 5e8, packedSize: 1e5 }), 'more than is safe'],
])('an archive that is %s is refused', async (_name, bytes, words) => {
  await expect(openZip(bytes)).rejects.toMatchObject({ code: 'INVALID_FILE', message: expect.stringContaining(words) })
})

test('a small part may have a very high compression ratio', async () => {
  expect(await contentOf(zipOf({ name: 'a', content: ' '.repeat(1e6) }), 'a')).toHaveLength(1e6)
})

test.each([
  ['a wrong checksum', { crc: 1 }],
  ['more content than it says', { size: 3 }],
  ['less content than it says', { size: 30 }],
])('a part with %s is refused', async (_name, claims) => {
  const error = await contentOf(zipOf({ name: 'a', content: 'hello', ...claims }), 'a').catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'INVALID_FILE', message: expect.stringContaining('damaged') })
})
