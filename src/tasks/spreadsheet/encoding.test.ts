import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { decoded, type Findings } from './encoding.ts'
import { openSource } from './source.ts'

/** Returns the text, its encoding and the first wrong byte. It reads whole and in small pieces, with equal results. */
async function read(bytes: Buffer, stated?: string, likely?: string) {
  const answers = []
  for (const size of [bytes.length + 1, 1, 7]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    )
    const found: Findings = {}
    let text = ''
    for await (const piece of decoded(await openSource(Readable.from(pieces)), stated, found, likely)) text += piece
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
  ['GB18030 with a mark', Buffer.from('84319533612cbfbed1bc', 'hex'), 'a,烤鸭', 'gb18030'],
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

// These rows of spreadsheets were made with Python: text.encode(…).
const SAMPLES: [language: string, encoding: string, text: string, hex: string][] = [
  [
    'German',
    'windows-1252',
    'Nr,Artikel,Stadt\n1,Geschirrspüler,Köln\n2,Größere Menge,Düsseldorf\n3,Käse für später,Zürich\n',
    '4e722c417274696b656c2c53746164740a312c47657363686972727370fc6c65722c4bf66c6e0a322c4772f6df657265204d656e67652c44fc7373656c646f72660a332c4be473652066fc72207370e47465722c5afc726963680a',
  ],
  [
    'French',
    'windows-1252',
    'No,Article,Ville\n1,crème fraîche,Besançon\n2,thé glacé,Orléans\n3,où ça,Genève\n4,fenêtre reçue,Nîmes\n',
    '4e6f2c41727469636c652c56696c6c650a312c6372e86d6520667261ee6368652c426573616ee76f6e0a322c7468e920676c6163e92c4f726ce9616e730a332c6ff920e7612c47656ee876650a342c66656eea747265207265e775652c4eee6d65730a',
  ],
  [
    'Polish',
    'windows-1250',
    'Nr,Towar,Miasto\n1,książka,Łódź\n2,żarówka,Białystok\n3,ręcznik już wysłane,Częstochowa\n',
    '4e722c546f7761722c4d696173746f0a312c6b7369b9bf6b612ca3f3649f0a322cbf6172f3776b612c426961b37973746f6b0a332c72ea637a6e696b206a75bf20777973b3616e652c437aea73746f63686f77610a',
  ],
  [
    'Czech',
    'windows-1250',
    'Číslo,Zboží,Město\n1,knížka,Plzeň\n2,žárovka,České Budějovice\n3,lůžko již odesláno,Děčín\n',
    'c8ed736c6f2c5a626f9eed2c4dec73746f0a312c6b6eed9e6b612c506c7a65f20a322c9ee1726f766b612cc865736be920427564ec6a6f766963650a332c6cf99e6b6f206a699e206f6465736ce16e6f2c44ece8ed6e0a',
  ],
  [
    'Russian',
    'windows-1251',
    'Номер,Товар,Город\n1,Сыр российский,Москва\n2,Телефон,Казань\n3,Куртка,Новосибирск\n',
    'cdeeece5f02cd2eee2e0f02cc3eef0eee40a312cd1fbf020f0eef1f1e8e9f1eae8e92ccceef1eae2e00a322cd2e5ebe5f4eeed2ccae0e7e0edfc0a332ccaf3f0f2eae02ccdeee2eef1e8e1e8f0f1ea0a',
  ],
  [
    'Chinese (simplified)',
    'gb18030',
    '编号,品名,城市\n1,苹果,北京\n2,华为手机,广州市\n3,请尽快发货,深圳\n',
    'b1e0bac52cc6b7c3fb2cb3c7cad00a312cc6bbb9fb2cb1b1bea90a322cbbaaceaacad6bbfa2cb9e3d6ddcad00a332cc7ebbea1bfecb7a2bbf52cc9eedbda0a',
  ],
  [
    'Chinese (traditional)',
    'big5',
    '編號,品名,城市\n1,蘋果,臺北\n2,筆記型電腦,高雄市\n3,請盡快出貨,新竹\n',
    'bd73b8b92cab7ea6572cabb0a5ab0a312cc4abaa472cbb4fa55f0a322cb5a7b04fabacb971b8a32cb0aab6afa5ab0a332cbdd0bac9a7d6a558b3662cb773a6cb0a',
  ],
  [
    'Korean',
    'euc-kr',
    '번호,상품명,도시\n1,삼성 휴대폰,서울\n2,세탁기,부산광역시\n3,빠른 배송 부탁드립니다,대전\n',
    'b9f8c8a32cbbf3c7b0b8ed2cb5b5bdc30a312cbbefbcba20c8deb4ebc6f92cbcadbfef0a322cbcbcc5b9b1e22cbacebbeab1a4bfaabdc30a332cbafcb8a520b9e8bcdb20bacec5b9b5e5b8b3b4cfb4d92cb4ebc0fc0a',
  ],
  [
    'Japanese (EUC)',
    'euc-jp',
    '番号,商品名,都市\n1,りんご,東京都\n2,ノートパソコン,大阪市\n3,至急発送してください,札幌\n',
    'c8d6b9e62cbea6c9caccbe2cc5d4bbd40a312ca4eaa4f3a4b42cc5ecb5fec5d40a322ca5cea1bca5c8a5d1a5bda5b3a5f32cc2e7bae5bbd40a332cbbeab5dec8afc1f7a4b7a4c6a4afa4c0a4b5a4a42cbba5cbda0a',
  ],
  [
    'Japanese (Shift JIS)',
    'shift_jis',
    '番号,商品名,都市\n1,りんご,東京都\n2,ノートパソコン,大阪市\n3,至急発送してください,札幌\n',
    '94d48d862c8fa4956996bc2c93738e730a312c82e882f182b22c938c8b9e93730a322c836d815b83678370835c835283932c91e58de38e730a332c8e8a8b7d94ad919782b582c482ad82be82b382a22c8e4496790a',
  ],
]

test.each(SAMPLES)('%s is read as %s', async (_language, encoding, text, hex) => {
  expect(await read(Buffer.from(hex, 'hex'))).toEqual({ text, encoding })
})

test('foreign names in English text are read in their encoding', async () => {
  const bytes = Buffer.from('id,name\n1,Pen\xe9lope\n2,25 \xb0C\n3,Jos\xe9 M\xfcller\n4,5 \x80\n', 'latin1')
  const text = 'id,name\n1,Penélope\n2,25 °C\n3,José Müller\n4,5 €\n'
  expect(await read(bytes)).toEqual({ text, encoding: 'windows-1252' })
})

test.each([
  [
    'a Spanish or Polish letter',
    Buffer.from('id,name\n1,screw\n2,Espa\xf1a\n', 'latin1'),
    ['windows-1252', 'windows-1250'],
    '"España" in windows-1252',
    '"Espańa" in windows-1250',
  ],
  ['Chinese or Korean names', Buffer.from('6e616d650ac0eebcfebdad0a', 'hex'), ['gb18030', 'euc-kr'], '', ''],
  [
    'one cell with a Chinese or Latin word',
    Buffer.from('612d312c31322e35302c bfbed1bc0a'.replace(' ', ''), 'hex'),
    ['windows-1252', 'shift_jis', 'gb18030'],
    '"¿¾Ñ¼" in windows-1252',
    '"烤鸭" in gb18030: set encoding: windows-1252',
  ],
])(
  '%s, which nothing tells apart, is refused with each likely reading',
  async (_name, bytes, encodings, one, other) => {
    const failure = await read(bytes).catch((error) => error)
    expect(failure).toMatchObject({ code: 'INVALID_FILE', message: expect.stringContaining('set encoding: ') })
    expect(failure.message).toContain(one)
    expect(failure.message).toContain(other)
    if (one) expect(failure.details).toMatchObject({ encodings })
  },
)

test('a likely encoding decides between close readings, and loses to a clear winner, UTF-8 and a byte order mark', async () => {
  const spanish = Buffer.from('id,name\n1,screw\n2,Espa\xf1a\n', 'latin1')
  for (const [likely, name] of [
    ['windows-1252', 'España'],
    ['windows-1250', 'Espańa'],
  ] as const) {
    expect(await read(spanish, undefined, likely)).toEqual({ text: `id,name\n1,screw\n2,${name}\n`, encoding: likely })
  }
  // Both read the same here, and may not further down.
  expect(await read(Buffer.from('M\xfcnchen', 'latin1'), undefined, 'windows-1250')).toEqual({
    text: 'München',
    encoding: 'windows-1250',
  })
  expect(await read(chinese, undefined, 'euc-kr')).toMatchObject({ encoding: 'gb18030' })
  expect(await read(Buffer.from('a,é'), undefined, 'windows-1252')).toEqual({ text: 'a,é', encoding: 'utf-8' })
  expect(await read(Buffer.from('\uFEFFa,é', 'utf16le'), undefined, 'windows-1252')).toMatchObject({ text: 'a,é' })
})

test('a text that fits no encoding is refused with the position of the first byte that is not UTF-8', async () => {
  const bytes = Buffer.from('a\n\xff\xfe\x81\x02\x90\n', 'latin1')
  expect(await read(bytes)).toMatchObject({ encoding: 'utf-8', problem: 'encoding', byte: 2 })
})

test('a given encoding is used, and an unknown one is refused', async () => {
  expect(await read(Buffer.from('M\xfcnchen \x80', 'latin1'), 'windows-1252')).toEqual({
    text: 'München €',
    encoding: 'windows-1252',
  })
  await expect(read(Buffer.from('a'), 'klingon')).rejects.toMatchObject({ code: 'INVALID_OPTION' })
})

test('reading ends before the first byte that is not in the encoding, and the error has its position', async () => {
  const utf8 = Buffer.from('é,漢\n1,')
  expect(await read(Buffer.concat([utf8, Buffer.from('caf\xe9 x', 'latin1')]))).toEqual({
    text: 'é,漢\n1,caf',
    encoding: 'utf-8',
    problem: 'encoding',
    byte: utf8.length + 3,
  })
  // UTF-8 pasted below rows in GB18030.
  const goods = Buffer.from(SAMPLES.find(([language]) => language === 'Chinese (simplified)')?.[3] ?? '', 'hex')
  const mixed = await read(Buffer.concat([...Array(1500).fill(goods), Buffer.from('\uFF5E,\xff')]))
  expect(mixed?.encoding).toBe('gb18030')
  expect(mixed?.problem).toBe('encoding')
  expect(await read(Buffer.from('a\n\uD83D', 'utf16le'), 'utf-16le')).toMatchObject({
    text: 'a\n',
    problem: 'encoding',
  })
  expect(await read(Buffer.from('a,b\n1,\0\n'))).toMatchObject({ text: 'a,b\n1,', problem: 'nul' })
})

test('Greek in capitals is not read as Cyrillic, nor a few Polish words as those of an old Macintosh', async () => {
  // 'ΑΘΗΝΑ ΠΑΤΡΑ Μαρία', 'ΑΘΗΝΑ ΠΑΤΡΑ ΒΟΛΟΣ' in windows-1253; 'Čapek ŁÓDŹ' in windows-1250
  const mixed = Buffer.from('c1c8c7cdc120d0c1d4d1c120cce1f1dfe10a', 'hex')
  expect(await read(mixed)).toMatchObject({ encoding: 'windows-1253' })
  const capitals = Buffer.from('c1c8c7cdc120d0c1d4d1c120c2cfcbcfd30a', 'hex')
  await expect(read(capitals)).rejects.toThrow(/in windows-1253/)
  const czech = Buffer.from('c86170656b20a3d3448f0a', 'hex')
  expect(await read(czech)).toMatchObject({ encoding: 'windows-1250' })
})
