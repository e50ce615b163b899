/** Zip archives out of texts, also such as claim what is not so. */

import { crc32, deflateRawSync } from 'node:zlib'

export interface Part {
  name: string
  content: string | Buffer
  /** Sizes and flags to claim in the table of contents instead of the true ones. */
  size?: number
  packedSize?: number
  flags?: number
  crc?: number
}

export function zipOf(...parts: Part[]): Buffer {
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
    fields.writeUInt32LE(claims.size ?? Buffer.byteLength(content), 18)
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
