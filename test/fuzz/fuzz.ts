/** Property tests of everything that reads data from outside: the number of cases, and the edits that make valid data malformed. */

import fc from 'fast-check'

/** The cases of all entrances together. */
const CASES = Number(process.env.HIGHKIQ_FUZZ_CASES || 300)
const SEED = Number(process.env.HIGHKIQ_TEST_SEED || 1)

/** Time for a share of the cases, in milliseconds. */
export const FUZZ_TIME = 60_000 + CASES * 30

/**
 * Checks an entrance with `percent` of all cases, of which each run has `perRun`. A failure shows the seed and the path of
 * the run; `HIGHKIQ_TEST_SEED` repeats it.
 */
export async function fuzz<T>(
  { percent, perRun = 1 }: { percent: number; perRun?: number },
  arbitrary: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
): Promise<void> {
  const numRuns = Math.ceil((CASES * percent) / 100 / perRun)
  const { failed, errorInstance, ...run } = await fc.check(fc.asyncProperty(arbitrary, check), {
    numRuns,
    seed: SEED,
    endOnFailure: true,
  })
  if (!failed) return
  const message = fc.defaultReportMessage({ failed, errorInstance, ...run } as fc.RunDetails<[T]>) ?? ''
  // A case may have long texts.
  throw new Error(message.slice(0, 5000), { cause: errorInstance })
}

/** Once in `n` cases a value, else null. */
export const rarely = <T>(n: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ arbitrary: fc.constant(null), weight: n - 1 }, arbitrary)

// ----------------------------------------------------------------------------------------------------------- JSON

/** JSON text of a value that JavaScript does not write or hold. */
export class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Json = null | boolean | number | string | Raw | Json[] | { [name: string]: Json }

const nested = (levels: number) => new Raw(`${'['.repeat(levels)}${']'.repeat(levels)}`)

const ODD: Json[] = [
  ...[null, true, false, 0, 1, -1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53, -1e-7, 1e300],
  ...[
    '',
    ' ',
    '0',
    'null',
    '__proto__',
    'constructor',
    'toString',
    '\0',
    '\n',
    '\ud800',
    '../..',
    'default',
    '*',
    'p3:x',
  ],
  ...[[], {}, [[]], [null], { a: 1 }, 'x'.repeat(20_000)],
  ...['1e400', '-0', '9007199254740993', `1${'0'.repeat(2000)}`, '"\\ud800"'].map((text) => new Raw(text)),
  ...['{"__proto__":{"a":1}}', '{"toString":1,"toJSON":1,"then":1}'].map((text) => new Raw(text)),
  ...[nested(120), nested(1200), nested(12_000)],
]

const odd: fc.Arbitrary<Json> = fc.oneof(
  { arbitrary: fc.constantFrom(...ODD), weight: 3 },
  fc.integer(),
  fc.double(),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
)

/** One edit of a JSON value, at one of its parts. */
export type JsonEdit = { at: number } & (
  | { do: 'replace'; by: Json }
  | { do: 'add'; name: string; value: Json }
  | { do: 'remove' | 'wrap' | 'double' | 'retype' | 'negate' | 'shorten' | 'lengthen' }
)

/** Up to three edits. `names` are those of the members that may be added. */
export function jsonEdits(names: readonly string[] = ['a', '__proto__']): fc.Arbitrary<JsonEdit[]> {
  const at = fc.nat()
  const edit = fc.oneof(
    { arbitrary: fc.record({ at, do: fc.constant('replace' as const), by: odd }), weight: 4 },
    {
      arbitrary: fc.record({ at, do: fc.constant('add' as const), name: fc.constantFrom(...names), value: odd }),
      weight: 3,
    },
    {
      arbitrary: fc.record({
        at,
        do: fc.constantFrom('remove', 'wrap', 'double', 'retype', 'negate', 'shorten', 'lengthen'),
      }),
      weight: 3,
    },
  )
  return fc.array(edit, { maxLength: 3 }) as fc.Arbitrary<JsonEdit[]>
}

type Holder = { [key: string]: Json }

/** Returns the JSON text of a value after the edits. */
export function editedJson(value: Json, edits: readonly JsonEdit[]): string {
  const top: Holder = { value: copied(value) }
  for (const edit of edits) {
    const all = [...partsOf(top)]
    const parts = edit.do === 'add' ? all.filter(([holder, key]) => isObject(holder[key])) : all
    const [holder, key] = parts[edit.at % parts.length] ?? []
    if (holder === undefined || key === undefined) continue
    const edited = editedPart(holder[key] as Json, edit)
    if (edited !== undefined) holder[key] = edited
    else if (Array.isArray(holder)) holder.splice(Number(key), 1)
    else delete holder[key]
  }
  return written(top.value ?? null)
}

function editedPart(part: Json, edit: JsonEdit): Json | undefined {
  switch (edit.do) {
    case 'replace':
      return edit.by
    case 'add':
      return { ...(part as Holder), [edit.name]: edit.value }
    case 'remove':
      return undefined
    case 'wrap':
      return [part]
    case 'double':
      return Array.isArray(part) ? [...part, ...part] : typeof part === 'string' ? part + part : [part, part]
    case 'retype':
      return typeof part === 'string' ? Number(part) || 0 : written(part)
    case 'negate':
      return typeof part === 'number' ? -part : part === true ? false : null
    case 'shorten':
      return typeof part === 'string' ? part.slice(0, -1) : Array.isArray(part) ? part.slice(1) : {}
    case 'lengthen':
      return typeof part === 'number' ? part * 1e6 + 0.5 : `${written(part)}\u{1f600}`
  }
}

const isObject = (value: Json | undefined): value is Holder =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Raw)

const copied = (value: Json): Json =>
  Array.isArray(value)
    ? value.map(copied)
    : isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copied(one)]))
      : value

function* partsOf(holder: Holder): Generator<[Holder, string]> {
  for (const key of Object.keys(holder)) {
    yield [holder, key]
    const part = holder[key]
    if (isObject(part) || Array.isArray(part)) yield* partsOf(part as Holder)
  }
}

function written(value: Json): string {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(written).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}:${written(one)}`)
    .join(',')}}`
}

// ---------------------------------------------------------------------------------------------------------- bytes

/** One edit of bytes: from a position some are replaced by others. */
export interface ByteEdit {
  at: number
  cut: number
  insert: Uint8Array
}

/** Up to three edits. `tokens` have a meaning in the format. */
export function byteEdits(tokens: readonly string[] = ['"', '\n', '\0', ',']): fc.Arbitrary<ByteEdit[]> {
  const insert = fc.oneof(
    fc.constant(new Uint8Array()),
    fc.uint8Array({ maxLength: 4 }),
    fc.constantFrom(...tokens).map((token) => new Uint8Array(Buffer.from(token))),
    fc.constantFrom('ff', 'c328', 'eda080', 'efbbbf', 'fffe').map((hex) => new Uint8Array(Buffer.from(hex, 'hex'))),
  )
  const cut = fc.oneof(fc.nat(4), fc.nat(200), fc.constant(1e9))
  return fc.array(fc.record({ at: fc.nat(), cut, insert }), { maxLength: 3 })
}

export function editedBytes(bytes: Uint8Array | string, edits: readonly ByteEdit[]): Buffer {
  return edits.reduce((edited, { at, cut, insert }) => {
    const from = at % (edited.length + 1)
    return Buffer.concat([edited.subarray(0, from), insert, edited.subarray(from + cut)])
  }, Buffer.from(bytes))
}

/** The text after the edits, as text. */
export function editedText(text: string, edits: readonly ByteEdit[]): string {
  return editedBytes(text, edits).toString()
}

// -------------------------------------------------------------------------------------------------------- answers

/** A line of a stack. */
export const STACK = /^\s*at .*(?:\(|file:|node:|\.[jt]s:\d)/m
