import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { editMembers, memberText, parseJson, stringifyJson } from './json.ts'

/** A JSON text together with the value that it must parse to. */
interface Sample {
  text: string
  value: unknown
}

const space = fc.array(fc.constantFrom(' ', '\n', '\r', '\t'), { maxLength: 2 }).map((spaces) => spaces.join(''))

const plainString = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('', '__proto__', 'a"b', 'c\\', '\\"', '}],', '#1', '#', '##', '1', 'id: 12345678901234567890'),
)

/** Some characters are written as escapes although they need not be. */
const stringSample = fc.tuple(plainString, fc.infiniteStream(fc.boolean())).map(([value, escapes]): Sample => {
  const written = value.split('').map((unit) => {
    if (escapes.next().value) return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
    return JSON.stringify(unit).slice(1, -1)
  })
  return { text: `"${written.join('')}"`, value }
})

const numberTexts = '1.0 -0 1E5 1e400 1234567890123456789.5 12345678901234567890e2 0.1234567890123456789'.split(' ')

const integerSample = fc
  .oneof(fc.bigInt(), fc.maxSafeInteger().map(BigInt), fc.bigInt({ min: 2n ** 53n - 9n, max: 2n ** 53n + 9n }))
  .map((big): Sample => ({ text: `${big}`, value: Number.isSafeInteger(Number(big)) ? Number(big) : big }))

const scalarSample = fc.oneof(
  stringSample,
  integerSample,
  fc.constantFrom(...numberTexts).map((text): Sample => ({ text, value: Number(text) })),
  fc.constantFrom(true, false, null).map((value): Sample => ({ text: `${value}`, value })),
)

const { sample } = fc.letrec<{ sample: Sample; array: Sample; object: Sample }>((tie) => ({
  sample: fc.oneof({ depthSize: 'small' }, scalarSample, tie('array'), tie('object')),
  array: fc.array(fc.tuple(space, tie('sample'), space), { maxLength: 4 }).map((items) => ({
    text: `[${items.map(([before, { text }, after]) => before + text + after).join(',')}]`,
    value: items.map(([, { value }]) => value),
  })),
  object: fc.array(fc.tuple(space, stringSample, tie('sample'), space), { maxLength: 4 }).map((members) => ({
    text: `{${members.map(([before, key, { text }, after]) => `${before}${key.text}${after}:${before}${text}`).join(',')}}`,
    value: Object.fromEntries(members.map(([, key, { value }]) => [key.value as string, value])),
  })),
}))

/** Like it.each, with samples of these kinds. */
function forAll<T extends [unknown, ...unknown[]]>(kinds: { [K in keyof T]: fc.Arbitrary<T[K]> }, numRuns = 100) {
  return (title: string, check: (...samples: T) => void) =>
    it(title, () => fc.assert(fc.property(...kinds, check), { numRuns }))
}

/** What a call gives or throws, for comparing two parsers. */
function outcome(call: () => unknown): unknown {
  try {
    return { value: call() }
  } catch (error) {
    return error instanceof SyntaxError ? error.message : error
  }
}

describe('parseJson', () => {
  const spaced = forAll([space, sample, space])
  spaced(
    'returns integers beyond 2^53-1 as BigInt, and everything else like JSON.parse',
    (before, { text, value }, after) => {
      deepStrictEqual(parseJson(before + text + after), value)
    },
  )

  const withoutBigIntegers = fc.json().filter((text) => !/\d{16}/.test(text))
  forAll([withoutBigIntegers])('equals JSON.parse without big integers', (text) => {
    deepStrictEqual(parseJson(text), JSON.parse(text))
  })

  it('keeps numbers up to the edge as numbers', () => {
    expect(parseJson('[9007199254740991, -9007199254740991, 0.5]')).toEqual([9007199254740991, -9007199254740991, 0.5])
    expect(parseJson('[9007199254740992,-9007199254740993]')).toEqual([9007199254740992n, -9007199254740993n])
    expect(parseJson('9007199254740993')).toBe(9007199254740993n)
  })

  it('does not change digits in strings, keys, fractions and exponents', () => {
    const text =
      '{"12345678901234567890":"a, 12345678901234567890","f":12345678901234567890.5,"e":12345678901234567890e1}'
    deepStrictEqual(parseJson(text), JSON.parse(text))
  })

  const edit = fc.tuple(fc.nat(), fc.nat({ max: 2 }), fc.constantFrom('', ',', '"', '}', '[', '1', '\\'))
  const edited = forAll([sample, edit], 500)
  edited('throws the SyntaxErrors of JSON.parse, and only those, beside a big integer too', ({ text }, edit) => {
    const [at, drop, put] = edit
    const cut = at % (text.length + 1)
    const broken = text.slice(0, cut) + put + text.slice(cut + drop)
    for (const candidate of [broken, `[12345678901234567890,${broken}]`]) {
      const expected = outcome(() => JSON.parse(candidate))
      const found = outcome(() => parseJson(candidate))
      if (typeof expected === 'string' || typeof found === 'string') expect(found).toBe(expected)
    }
  })

  it.each(['', '01', '[1,]', '{"a":1,}', '{12345678901234567890:1}', '1 2', '[12345678901234567890', '\ufeff1', "'a'"])(
    'refuses %j',
    (text) => expect(() => parseJson(text)).toThrow(SyntaxError),
  )

  it('reads an integer with millions of digits as JSON.parse does, because a BigInt would take seconds', () => {
    expect(parseJson(`[1, ${'9'.repeat(4_000_000)}]`)).toEqual([1, Number.POSITIVE_INFINITY])
    expect(parseJson(`[${'9'.repeat(1000)}, -${'9'.repeat(1000)}]`)).toEqual([10n ** 1000n - 1n, 1n - 10n ** 1000n])
  })

  it('is safe against deep nesting and __proto__', () => {
    const deep = 200_000
    expect(() => parseJson(`${'['.repeat(deep)}12345678901234567890${']'.repeat(deep)}`)).not.toThrow()
    const parsed = parseJson('{"__proto__":{"admin":12345678901234567890}}') as { admin?: unknown }
    expect(parsed.admin).toBeUndefined()
    expect(Object.keys(parsed)).toEqual(['__proto__'])
  })
})

describe('stringifyJson', () => {
  forAll([sample])('writes the value that parseJson returned', ({ value }) => {
    const text = stringifyJson(value)
    expect(stringifyJson(parseJson(text))).toBe(text)
  })

  const old = (value: unknown) => stringifyJson(value, 'old')
  const anything = fc.oneof(fc.jsonValue(), fc.anything())
  forAll([anything])('equals JSON.stringify without BigInts, except for numbers with an exponent', (value) => {
    const [ours, theirs] = [outcome(() => old(value)), outcome(() => JSON.stringify(value))]
    if (/\de[+-]\d|0\.0000/.test(JSON.stringify(theirs))) return
    expect(ours).toEqual(theirs)
  })

  const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
  const plainly = (written: string) => written.replace(/(\d)\.0e/g, '$1e').replace(/e([+-])0/g, 'e$1')
  forAll([finite, fc.string()])('writes any number as JSON.stringify, or with an exponent', (number, text) => {
    const value = { [text]: [text, number, -number], number }
    expect(JSON.parse(old(value))).toEqual(JSON.parse(JSON.stringify(value)))
    if (number !== 0 && Math.abs(number) < 1e-4) expect(plainly(old(number))).toBe(number.toExponential())
  })

  const numbers = [1e21, -1.5e300, 5e-324, 0.00001, -0.00001234, 1e-7, 1e-4, 1e20, 0.1]
  const texts = ['1e+21', '-1.5e-07 0.00001', 'pre-1e-7']

  it('writes a number with an exponent as the json gem of Ruby did up to 2.11', () => {
    expect(stringifyJson([...numbers, ...texts], 'old')).toBe(
      '[1.0e+21,-1.5e+300,5.0e-324,1.0e-05,-1.234e-05,1.0e-07,0.0001,100000000000000000000,0.1,' +
        '"1e+21","-1.5e-07 0.00001","pre-1e-7"]',
    )
  })

  it('writes a number with an exponent as the json gem of Ruby does from 2.12 on', () => {
    const small = [1.5e-9, -9.87654321e-8, 1.234567890123e-7, 1e-9, 9.9e-10, 1e-10, 3.5e-70, 1e-79]
    expect(stringifyJson([...numbers, ...small, ...texts])).toBe(
      '[1e+21,-1.5e+300,5e-324,0.00001,-0.00001234,0.0000001,0.0001,100000000000000000000,0.1,' +
        '0.0000000015,-0.0000000987654321,0.0000001234567890123,0.000000001,9.9e-10,1e-10,3.5e-70,1e-79,' +
        '"1e+21","-1.5e-07 0.00001","pre-1e-7"]',
    )
  })

  // The gem writes decimals from 1e-9 to 1e15; otherwise it writes an exponent without leading zeros.
  forAll([finite])('writes an exponent for very small and very large numbers only', (number) => {
    const exponent = Number(number.toExponential().split('e')[1])
    const written = stringifyJson(number)
    expect(JSON.parse(written)).toBe(number === 0 ? 0 : number)
    expect(written.includes('e')).toBe(number !== 0 && (exponent < -9 || exponent > 20))
    if (written.includes('e')) expect(written).toBe(number.toExponential())
  })

  it('writes a BigInt as an integer, whatever the strings beside it look like', () => {
    expect(stringifyJson(-(2n ** 64n))).toBe('-18446744073709551616')
    expect(stringifyJson({ '#7': 1n, a: ['#', '##5', '"#6"', 2n], b: undefined, at: new Date(0) })).toBe(
      '{"#7":1,"a":["#","##5","\\"#6\\"",2],"at":"1970-01-01T00:00:00.000Z"}',
    )
    expect(stringifyJson({ toJSON: () => 3n })).toBe('3')
  })

  it('ignores a BigInt.prototype.toJSON', () => {
    Object.assign(BigInt.prototype, { toJSON: () => 'patched' })
    onTestFinished(() => void Reflect.deleteProperty(BigInt.prototype, 'toJSON'))
    expect(stringifyJson([1n, 'x', { a: 2n }])).toBe('[1,"x",{"a":2}]')
    expect(stringifyJson({ a: 1 })).toBe('{"a":1}')
  })

  it('throws the same errors as JSON.stringify', () => {
    const cycle: unknown[] = [1n]
    cycle.push(cycle)
    expect(() => stringifyJson(cycle)).toThrow(TypeError)
    const thrower = {
      toJSON() {
        throw new RangeError('mine')
      },
    }
    expect(() => stringifyJson(thrower)).toThrow(new RangeError('mine'))
  })
})

describe('editMembers', () => {
  const name: fc.Arbitrary<string> = fc.constantFrom('args', 'jid', 'at', 'n"', '__proto__', '7')
  const keyText = fc.tuple(name, fc.boolean()).map(([key, escaped]) => ({
    key,
    text: escaped
      ? `"\\u00${key.charCodeAt(0).toString(16)}${JSON.stringify(key.slice(1)).slice(1)}`
      : JSON.stringify(key),
  }))
  const members = fc.array(fc.record({ key: keyText, value: sample, s1: space, s2: space, s3: space, s4: space }), {
    maxLength: 8,
  })
  const edits = fc
    .array(fc.tuple(name, fc.option(sample, { nil: undefined })), { maxLength: 5 })
    .map((pairs) => new Map(pairs))

  const changed = forAll([members, edits, space, space], 500)
  changed('changes only the given members, to the byte', (members, edits, before, after) => {
    const tail = members.at(-1)?.s4 ?? before
    const written = members.map(({ key, value, s1, s2, s3, s4 }, i) => ({
      key: key.key,
      head: `${s1}${key.text}${s2}:${s3}`,
      value: value.text,
      foot: i === members.length - 1 ? '' : s4,
    }))
    const text = `${before}{${written.map((m) => m.head + m.value + m.foot).join(',')}${tail}}${after}`

    const kept = written.flatMap((member, i) => {
      if (!edits.has(member.key)) return [member.head + member.value + member.foot]
      const ruling = i === written.findLastIndex((other) => other.key === member.key)
      const edit = edits.get(member.key)
      return ruling && edit ? [member.head + edit.text + member.foot] : []
    })
    const added = Object.keys(Object.fromEntries([...edits])).flatMap((key) => {
      const edit = edits.get(key)
      return edit && !written.some((member) => member.key === key) ? [`${JSON.stringify(key)}:${edit.text}`] : []
    })
    const edited = editMembers(text, Object.fromEntries([...edits].map(([key, edit]) => [key, edit?.text])) as never)
    expect(edited).toBe(`${before}{${[...kept, ...added].join(',')}${tail}}${after}`)

    // The same through parsers: what a reader of the text sees.
    const object = new Map(members.map(({ key, value }) => [key.key, value.value]))
    for (const [key, edit] of edits) {
      if (edit) object.set(key, edit.value)
      else object.delete(key)
    }
    deepStrictEqual(parseJson(edited), Object.fromEntries(object))
    for (const { key } of written) if (!edits.has(key)) expect(memberText(edited, key)).toBe(memberText(text, key))
  })

  it.each<[string, Record<string, string | undefined>, string]>([
    ['{"a":1.0,"b":2}', { b: '3' }, '{"a":1.0,"b":3}'],
    ['{"a":1,"b":2,"c":3}', { a: undefined, b: undefined }, '{"c":3}'],
    ['{"a":1,"b":2,"c":3}', { b: undefined, c: undefined }, '{"a":1}'],
    ['{\n  "a": 1,\n  "b": 2\n}', { b: undefined }, '{\n  "a": 1\n}'],
    ['{\n  "a": 1,\n  "b": 2\n}', { a: undefined }, '{\n  "b": 2\n}'],
    ['{\n  "a": 1\n}', { a: undefined, z: '26', b: '2' }, '{"z":26,"b":2\n}'],
    ['{ }', { a: '1', b: undefined, c: '3' }, '{"a":1,"c":3 }'],
    ['{"\\u0061rgs":[1]}', { args: '[2]' }, '{"\\u0061rgs":[2]}'],
    ['{"a":1,"b":2,"a":3}', { a: '4' }, '{"b":2,"a":4}'],
    ['{"a":1,"b":2,"a":3}', { a: undefined }, '{"b":2}'],
    ['{"a":1,"a":3}', {}, '{"a":1,"a":3}'],
    ['{"a":"}\\",\\\\"}', { b: '$&' }, '{"a":"}\\",\\\\","b":$&}'],
    ['{"a":1}', { toString: '1' }, '{"a":1,"toString":1}'],
    ['{"toString":1}', {}, '{"toString":1}'],
  ])('%j with %j gives %j', (text, edits, expected) => expect(editMembers(text, edits)).toBe(expected))

  const noObject = ['[]', '1', 'null', '"a"']
  const nested = ['{"a":[1}', '{"a":[[]}', '{"a":{"b":"}}']
  const cutShort = ['', ' ', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a', '{"a":"b}', '{"a":"b\\"}', ...nested]
  const misplaced = ['{"a":}', '{"a":1,}', '{,}', '{a:1}', '{"a" 1}', '{"a":1 2}', '{"a":1 "b":2}', '{"a":1}}']
  const others = ['{"a":1}x', '{"a\\x":1}']
  it.each([...noObject, ...cutShort, ...misplaced, ...others])('refuses %j', (text) => {
    expect(() => editMembers(text, { a: '1' })).toThrow(SyntaxError)
    expect(() => memberText(text, 'a')).toThrow(SyntaxError)
  })

  it('is safe against deep nesting', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    expect(editMembers(`{"a":${deep},"b":1}`, { b: '2' })).toBe(`{"a":${deep},"b":2}`)
  })
})

describe('memberText', () => {
  it('returns the raw text of the last member with that name at the top level', () => {
    const text = '{"x":{"a":0}, "a":1, "a" : [1.0, 9007199254740993] , "\\u0062":"\\u0063"}'
    expect(memberText(text, 'a')).toBe('[1.0, 9007199254740993]')
    expect(memberText(text, 'b')).toBe('"\\u0063"')
    expect(memberText(text, 'c')).toBeUndefined()
    expect(memberText('{}', 'toString')).toBeUndefined()
  })
})
