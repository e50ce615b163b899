import { expect, test } from 'vitest'
import { parseJson, stringifyJson } from '../job/json.ts'
import { day, decimal, decode, encode, gid, keywords, symbol } from './serial.ts'

/** Returns the JSON of a value that one of Rails' own serializers wrote. */
const by = (serializer: string, members: string) =>
  `{"_aj_serialized":"ActiveJob::Serializers::${serializer}Serializer",${members}}`
/** Returns the JSON of a record of the app `shop`, and the handler's value of it. */
const record = (gid: string, model: string, id: unknown) =>
  [`{"_aj_globalid":"${gid}"}`, { gid, app: 'shop', model, id }] as const
const [HOURS, MINUTES] = ['hours', 'minutes'].map((unit) => by('Symbol', `"value":"${unit}"`))

/**
 * The JSON of ActiveJob, from its documentation and from observed payloads; no Ruby has produced it here.
 * Each row has Ruby's value, its JSON, and the handler's value.
 */
const GOLDEN: (readonly [string, string, unknown])[] = [
  ['nil, true, 1, 1.5, "text"', '[null,true,1,1.5,"text"]', [null, true, 1, 1.5, 'text']],
  ['2**64', '18446744073709551616', 2n ** 64n],
  [':name', by('Symbol', '"value":"name"'), 'name'],
  ['User.find(1)', ...record('gid://shop/User/1', 'User', '1')],
  ['Admin::User.find("a/b")', ...record('gid://shop/Admin::User/a%2Fb?db=x', 'Admin::User', 'a/b')],
  ['Line.find([1, 2])', ...record('gid://shop/Line/1/2', 'Line', ['1', '2'])],
  [
    'Time.utc(2026, 12, 1, 8)',
    by('Time', '"value":"2026-12-01T08:00:00.123456789Z"'),
    new Date('2026-12-01T08:00:00.123Z'),
  ],
  ['DateTime', by('DateTime', '"value":"2026-12-01T08:00:00.000000000+01:00"'), new Date('2026-12-01T07:00:00Z')],
  [
    'Time.zone.local(2026, 12, 1, 9)',
    by('TimeWithZone', '"value":"2026-12-01T08:00:00.000000000Z","time_zone":"Europe/Prague"'),
    new Date('2026-12-01T08:00:00Z'),
  ],
  ['Date.new(2026, 12, 1)', by('Date', '"value":"2026-12-01"'), '2026-12-01'],
  ['1.hour + 5.minutes', by('Duration', `"value":3900,"parts":[[${HOURS},1],[${MINUTES},5]]`), 3900],
  ['BigDecimal("12.5")', by('BigDecimal', '"value":"0.125e2"'), '0.125e2'],
  [
    '(:a...nil)',
    by('Range', `"begin":${by('Symbol', '"value":"a"')},"end":null,"exclude_end":true`),
    { begin: 'a', end: null, excludeEnd: true },
  ],
  ['Shop::Order', by('Module', '"value":"Shop::Order"'), 'Shop::Order'],
  ['{ "a" => 1 }', '{"a":1,"_aj_symbol_keys":[]}', { a: 1 }],
  [
    '{ a: 1, "b" => [:c] }',
    '{"a":1,"b":[{"_aj_serialized":"ActiveJob::Serializers::SymbolSerializer","value":"c"}],"_aj_symbol_keys":["a"]}',
    { a: 1, b: ['c'] },
  ],
  [
    'with indifferent access',
    '{"a":{"b":1,"_aj_symbol_keys":[]},"_aj_hash_with_indifferent_access":true}',
    { a: { b: 1 } },
  ],
  ['keywords', '{"force":true,"_aj_ruby2_keywords":["force"]}', { force: true }],
  ['{}', '{"_aj_symbol_keys":[]}', {}],
]

test.each(GOLDEN)('an ActiveJob argument is read: %s', (_, json, value) => {
  const unknown: string[] = []
  expect(decode([parseJson(json)], (name) => unknown.push(name))).toEqual([value])
  expect(unknown).toEqual([])
})

test.each([
  ['{"_aj_serialized":"MoneySerializer","cents":5,"currency":{"_aj_globalid":"gid://a/B/1"}}', 'MoneySerializer'],
  ['{"_aj_serialized":"ActiveJob::Serializers::NewSerializer","value":1}', 'ActiveJob::Serializers::NewSerializer'],
  ['{"_aj_serialized":"ActiveJob::Serializers::toString","value":1}', 'ActiveJob::Serializers::toString'],
  [
    '{"_aj_serialized":"ActiveJob::Serializers::TimeSerializer","value":"soon"}',
    'ActiveJob::Serializers::TimeSerializer',
  ],
  ['{"_aj_serialized":null}', 'null'],
])('%s stays as it is, and its serializer is reported', (json, name) => {
  const unknown: string[] = []
  expect(decode([[JSON.parse(json)]], (one) => unknown.push(one))).toEqual([[JSON.parse(json)]])
  expect(unknown).toEqual([name])
})

test('a string that is not a GlobalID stays unchanged, and a hash may have any key', () => {
  for (const json of ['{"_aj_globalid":"gid:x"}', '{"_aj_globalid":5}', '{"_aj_globalid":"gid://a/B/%zz"}']) {
    expect(decode([JSON.parse(json)], () => {})).toEqual([JSON.parse(json)])
  }
  const odd = JSON.parse('{"__proto__":{"a":1},"toString":2,"_aj_symbol_keys":["toString"]}')
  expect(JSON.stringify(decode([odd], () => {}))).toBe('[{"__proto__":{"a":1},"toString":2}]')
})

test('arguments are written in the format of ActiveJob', () => {
  const written = encode([
    1,
    'x',
    null,
    2n ** 64n,
    [symbol('a'), day('2026-12-01'), decimal('12.50')],
    gid('gid://shop/User/1'),
    new Date('2026-12-01T08:00:00.5Z'),
    { a: { b: [gid('gid://shop/User/2')] } },
    keywords({ force: true, at: new Date(0) }),
  ])
  expect(stringifyJson(written)).toBe(
    '[1,"x",null,18446744073709551616,' +
      '[{"_aj_serialized":"ActiveJob::Serializers::SymbolSerializer","value":"a"},' +
      '{"_aj_serialized":"ActiveJob::Serializers::DateSerializer","value":"2026-12-01"},' +
      '{"_aj_serialized":"ActiveJob::Serializers::BigDecimalSerializer","value":"12.50"}],' +
      '{"_aj_globalid":"gid://shop/User/1"},' +
      '{"_aj_serialized":"ActiveJob::Serializers::TimeSerializer","value":"2026-12-01T08:00:00.500Z"},' +
      '{"a":{"b":[{"_aj_globalid":"gid://shop/User/2"}],"_aj_symbol_keys":[]},"_aj_symbol_keys":[]},' +
      '{"force":true,"at":{"_aj_serialized":"ActiveJob::Serializers::TimeSerializer","value":"1970-01-01T00:00:00.000Z"},"_aj_ruby2_keywords":["force","at"]}]',
  )
})

test('a record that was read can be written again', () => {
  const [user] = decode([{ _aj_globalid: 'gid://shop/User/1' }], () => {})
  expect(encode([user])).toEqual([{ _aj_globalid: 'gid://shop/User/1' }])
})

test.each<[string, () => unknown]>([
  ['a reserved key', () => encode([{ a: { _aj_serialized: 'x' } }])],
  ['a keyword of a reserved name', () => keywords({ _aj_symbol_keys: 1 })],
  ['an invalid date', () => day('2026-13-01')],
  ['a date with a time', () => day('2026-12-01T08:00:00Z')],
  ['an invalid decimal', () => decimal('12,50')],
  ['an invalid address', () => gid('User/1')],
])('%s is refused', (_, work) => {
  expect(work).toThrow(expect.objectContaining({ code: 'INVALID_ARGS' }))
})
