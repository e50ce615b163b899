import { crc32, deflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openZip } from './zip-check.ts'

interface Part {
  name: string
  content: string
  /** Sizes and flags to claim in the table of contents instead of the true ones. */
  size?: number
  packedSize?: number
  flags?: number
  crc?: number
}

function zipOf(...parts: Part[]): Buffer {
  const bodies: Buffer[] = []
  const contents: Buffer[] = []
  let offset = 0
  for (const { name, content, ...claims } of parts) {
    const packed = deflateRawSync(content)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(claims.flags ?? 0, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(claims.crc ?? crc32(content), 10)
    fields.writeUInt32LE(claims.packedSize ?? packed.length, 14)
    fields.writeUInt32LE(claims.size ?? content.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const at = Buffer.alloc(14)
    at.writeUInt32LE(offset, 10)
    const body = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed])
    bodies.push(body)
    contents.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, at, Buffer.from(name))
    offset += body.length
  }
  const list = Buffer.concat(contents)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, list, end])
}

async function contentOf(bytes: Uint8Array, name: string): Promise<string> {
  const zip = await openZip(bytes)
  const entry = zip.entries.get(name)
  if (!entry) throw new Error(`no ${name}`)
  const chunks: Buffer[] = []
  for await (const chunk of zip.content(entry)) chunks.push(chunk)
  zip.close()
  return Buffer.concat(chunks).toString()
}

test('parts are found whatever the case of their name', async () => {
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
  ['packed 1:5000', zipOf({ name: 'a', content: 'x', size: 5e8, packedSize: 1e5 }), 'more than is safe'],
])('an archive that is %s is refused', async (_name, bytes, words) => {
  await expect(openZip(bytes)).rejects.toMatchObject({ code: 'INVALID_FILE', message: expect.stringContaining(words) })
})

test('a small part may be packed very well', async () => {
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
