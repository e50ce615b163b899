import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { decoded, type Findings } from './encoding.ts'
import { openSource } from './source.ts'

/** Text, encoding and where it was wrong; read whole and in small pieces, which must be the same. */
async function read(bytes: Buffer, stated?: string) {
  const answers = []
  for (const size of [bytes.length + 1, 1, 7]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    )
    const found: Findings = {}
    let text = ''
    for await (const piece of decoded(await openSource(Readable.from(pieces)), stated, found)) text += piece
    const { problem, encoding, byte } = found
    answers.push({ text, encoding, ...(problem ? { problem, byte } : {}) })
  }
  expect(answers[1]).toEqual(answers[0])
  expect(answers[2]).toEqual(answers[0])
  return answers[0]
}

// Made with Python: text.encode('gb18030').
const chinese = Buffer.from(
  'b1e0bac52cc3fbb3c62cbcdbb8f10a312cc6bbb9fba3a8baeccfe4a3a92c31320a322ce6acd2bbd1f9b5c42c390a',
  'hex',
)

test.each([
  ['ASCII', Buffer.from('a,b\n1,2\n'), 'a,b\n1,2\n', 'utf-8'],
  ['UTF-8', Buffer.from('é,漢,😀'), 'é,漢,😀', 'utf-8'],
  ['UTF-8 with a mark', Buffer.from('\uFEFFa,é'), 'a,é', 'utf-8'],
  ['UTF-16LE without a mark', Buffer.from('编号,名称\r\n1,苹果\r\n', 'utf16le'), '编号,名称\r\n1,苹果\r\n', 'utf-16le'],
  ['GB18030', chinese, '编号,名称,价格\n1,苹果（红箱）,12\n2,娆一样的,9\n', 'gb18030'],
  [
    'GB18030 after much ASCII',
    Buffer.concat([Buffer.from(`${'a'.repeat(500)},`), chinese]),
    `${'a'.repeat(500)},编号,名称,价格\n1,苹果（红箱）,12\n2,娆一样的,9\n`,
    'gb18030',
  ],
])('%s is read as what it is', async (_name, bytes, text, encoding) => {
  expect(await read(bytes)).toEqual({ text, encoding })
})

test.each([
  ['German in windows-1252', Buffer.from('Name,Ort\nJos\xe9,M\xfcnchen\nGr\xf6\xdfe,\xd6l', 'latin1'), 12],
  ['French in windows-1252', Buffer.from('cr\xe9\xe9,\xe9t\xe9,\xab\xa0\xe0\xa0\xbb', 'latin1'), 2],
  ['Russian in windows-1251', Buffer.from('cff0e8e2e5f220eceef12c', 'hex'), 0],
  ['Japanese in Shift JIS', Buffer.from('83658358836795b68e9a2c', 'hex'), 0],
])('%s is not taken for Chinese, but must be stated', async (_name, bytes, byte) => {
  expect(await read(bytes)).toMatchObject({ encoding: 'utf-8', problem: 'encoding', byte })
})

test('an encoding that is stated is used, and one that is none is refused', async () => {
  expect(await read(Buffer.from('M\xfcnchen \x80', 'latin1'), 'windows-1252')).toEqual({
    text: 'München €',
    encoding: 'windows-1252',
  })
  await expect(read(Buffer.from('a'), 'klingon')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('the text ends before what is not in its encoding, and the byte is told', async () => {
  const utf8 = Buffer.from('é,漢\n1,')
  expect(await read(Buffer.concat([utf8, Buffer.from('caf\xe9 x', 'latin1')]))).toEqual({
    text: 'é,漢\n1,caf',
    encoding: 'utf-8',
    problem: 'encoding',
    byte: utf8.length + 3,
  })
  // UTF-8 pasted below rows in GB18030.
  const mixed = await read(Buffer.concat([...Array(1500).fill(chinese), Buffer.from('\uFF5E,\xff')]))
  expect(mixed?.encoding).toBe('gb18030')
  expect(mixed?.problem).toBe('encoding')
  expect(await read(Buffer.from('a\n\uD83D', 'utf16le'), 'utf-16le')).toMatchObject({
    text: 'a\n',
    problem: 'encoding',
  })
  expect(await read(Buffer.from('a,b\n1,\0\n'))).toMatchObject({ text: 'a,b\n1,', problem: 'nul' })
})
