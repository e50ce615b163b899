/**
 * JSON that keeps what JavaScript would lose: integers beyond 2^53, and the exact bytes of what nobody edits. What it
 * writes, Ruby would write the same: its API finds a job by the text that comes of parsing and generating.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const ZERO = 0x30
const NINE = 0x39

/** The shortest integer that a number can't hold has 16 digits. May also hit inside a string: a false alarm is fine. */
const MAYBE_BIG = /(?:^|[-\s,:[])\d{16}/
/** A value in more lists and objects than this is not looked at: the stack is limited, and JSON.parse is not. */
const MAX_DEPTH = 100
/** An integer that may become a BigInt. With millions of digits that would take seconds. */
const INTEGER = /^-?\d{1,1000}$/
/** The smallest integer with more than 1,000 digits. */
export const FIRST_TOO_LONG = 10n ** 1000n
/**
 * The way Ruby's json gem writes a number with a fraction or an exponent. `old` is up to 2.11: `1.0e+21` and `1.0e-05`.
 * `new` is from 2.12 on: `1e+21`, `0.00001`, and `1e-10` below 1e-9.
 */
export type Floats = 'new' | 'old'

/** Matches texts with a number that Ruby writes in another way than JavaScript. It may also match inside a string. */
const OTHERWISE: Record<Floats, RegExp> = { new: /\de-[789](?!\d)/, old: /\de[+-]\d|0\.0000/ }

/**
 * `JSON.parse`, except that an integer beyond ±(2^53-1) comes out as a BigInt. Throws the same SyntaxErrors. A number
 * with a fraction or an exponent is always a number (`1e400` is Infinity, as in JSON.parse), and so is an integer with more
 * than 1,000 digits. A number like 2**60, which JSON.stringify writes as plain digits, comes back as a BigInt.
 *
 * @example parseJson('[1, 9007199254740993]') // [1, 9007199254740993n]
 */
export function parseJson(text: string): unknown {
  const plain: unknown = JSON.parse(text)
  return hasUnsafeNumber(plain, MAX_DEPTH) && MAYBE_BIG.test(text) ? parseExactly(text) : plain
}

/** Returns the elements of a JSON array; none for any other text. */
export function parseList(text: string): unknown[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : []
  } catch {
    return []
  }
}

/** Returns whether there is a number beyond ±(2^53-1) in a value, or anything at a depth beyond `depth`. */
function hasUnsafeNumber(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  if (Array.isArray(value)) return value.some((element) => hasUnsafeNumber(element, depth - 1))
  for (const key in value) if (hasUnsafeNumber((value as Record<string, unknown>)[key], depth - 1)) return true
  return false
}

/**
 * `JSON.stringify`, except that a BigInt is written as a JSON integer, even where a program has given BigInt a `toJSON`,
 * and that numbers look as Ruby's json gem writes them. Throws what JSON.stringify throws: TypeError for a cycle,
 * RangeError for very deep nesting.
 *
 * @example stringifyJson({ id: 9007199254740993n, rate: 1e-7 }) // '{"id":9007199254740993,"rate":0.0000001}'
 */
export function stringifyJson(value: unknown, floats: Floats = 'new'): string {
  return withRubysNumbers('toJSON' in BigInt.prototype ? stringifyExactly(value) : stringify(value), floats)
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof TypeError) return stringifyExactly(value)
    throw error
  }
}

/**
 * Edits top-level members of the JSON object `text`; every other byte stays (`1.0`, key order, whitespace, escapes).
 *
 * Each edit is the new value as JSON text, which replaces the old value in place, or is appended at the end when there
 * is no such member; `undefined` removes the member with its comma. Of a key that occurs more than once the last one
 * rules, as in parsers: it is edited and the earlier ones are removed. Throws SyntaxError when the text is not an
 * object; what is inside the values is skipped, not checked.
 *
 * @example editMembers('{"jid":"1", "n":1.0}', { jid: '"2"', at: '5' }) // '{"jid":"2", "n":1.0,"at":5}'
 */
export function editMembers(text: string, edits: Record<string, string | undefined>): string {
  const members = membersOf(text)
  const ruling = new Map<string, Member>()
  for (const member of members) if (Object.hasOwn(edits, member.key)) ruling.set(member.key, member)

  let out = ''
  let copied = 0
  let kept = 0
  for (let i = 0; i < members.length; i++) {
    const member = members[i] as Member
    const ruler = ruling.get(member.key)
    const edit = ruler === member ? edits[member.key] : undefined
    if (edit !== undefined) {
      out += text.slice(copied, member.value) + edit
      copied = member.end
    }
    if (ruler === undefined || edit !== undefined) {
      kept++
      continue
    }
    // The comma that goes with a removed member is the one before it, or the one after it if nothing before it stays.
    const comma = kept > 0 ? 1 : 0
    out += text.slice(copied, member.from - comma)
    const next = members[i + 1]
    copied = next === undefined ? member.end : next.from - comma
  }

  const tail = members.at(-1)?.end ?? text.indexOf('{') + 1
  out += text.slice(copied, tail)
  for (const key of Object.keys(edits)) {
    if (edits[key] === undefined || ruling.has(key)) continue
    out += `${kept++ > 0 ? ',' : ''}${JSON.stringify(key)}:${edits[key]}`
  }
  return out + text.slice(tail)
}

/**
 * The raw text of a top-level member's value in the JSON object `text`, or undefined when there is none. The last one
 * of several; SyntaxError as in `editMembers`.
 *
 * @example memberText('{"args": [1.0]}', 'args') // '[1.0]'
 */
export function memberText(text: string, key: string): string | undefined {
  const member = membersOf(text).findLast((member) => member.key === key)
  return member && text.slice(member.value, member.end)
}

/**
 * The raw texts of the elements of the JSON array `text`; SyntaxError when it is none.
 *
 * @example elementTexts('[1.0, {"a":[]}]') // ['1.0', '{"a":[]}']
 */
export function elementTexts(text: string): string[] {
  const texts: string[] = []
  let at = skipSpace(text, expect(text, skipSpace(text, 0), OPEN_BRACKET))
  while (texts.length > 0 || text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = valueEnd(text, at)
    texts.push(text.slice(at, end))
    at = skipSpace(text, end)
    if (text.charCodeAt(at) !== COMMA) break
    at = skipSpace(text, at + 1)
  }
  const end = skipSpace(text, expect(text, at, CLOSE_BRACKET))
  if (end < text.length) throw malformed(text, end)
  return texts
}

/** A tokenizer, not a validator: JSON.parse has accepted the text already. No recursion, so no depth is too deep. */
function parseExactly(text: string): unknown {
  const open: (unknown[] | Record<string, unknown>)[] = []
  let holder: unknown[] | Record<string, unknown> | undefined
  let key: string | undefined
  let root: unknown

  const put = (value: unknown) => {
    if (holder === undefined) root = value
    else if (Array.isArray(holder)) holder.push(value)
    else if (key !== '__proto__') holder[key as string] = value
    else Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true })
    key = undefined
  }

  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const code = text.charCodeAt(at)
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const opened = code === OPEN_BRACE ? {} : []
      put(opened)
      open.push(opened)
      holder = opened
      at++
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      open.pop()
      holder = open.at(-1)
      at++
    } else if (code === COMMA || code === COLON) {
      at++
    } else {
      const end = valueEnd(text, at)
      const token = text.slice(at, end)
      if (code !== QUOTE) put(INTEGER.test(token) ? integerOf(token) : JSON.parse(token))
      else if (holder === undefined || Array.isArray(holder) || key !== undefined) put(JSON.parse(token))
      else key = decodeKey(token)
      at = end
    }
  }
  return root
}

function integerOf(token: string): number | bigint {
  const number = Number(token)
  return Number.isSafeInteger(number) ? number : BigInt(token)
}

/** JSON.stringify writes each BigInt as a marked string, then mark and quotes are cut away. */
function stringifyExactly(value: unknown): string {
  for (let mark = '#'; ; mark += '#') {
    let marked = 0
    const text = JSON.stringify(value, function (this: Record<string, unknown>, key, value: unknown) {
      // A patched BigInt.prototype.toJSON has run by now: the holder has the original.
      const original = typeof value === 'bigint' ? value : this[key]
      if (typeof original !== 'bigint') return value
      marked++
      return `${mark}${original}`
    })
    if (marked === 0) return text
    const [head, ...rest] = text.split(`"${mark}`)
    // More hits than marks: some string of the value begins like the mark, so try a longer one.
    if (rest.length === marked) return head + rest.map((piece) => piece.replace('"', '')).join('')
  }
}

/** Rewrites numbers as Ruby writes them. The first lines return early, since hardly any text has such a number. */
function withRubysNumbers(text: string, floats: Floats): string {
  const otherwise = OTHERWISE[floats]
  // JSON.stringify has no text for undefined and functions.
  const maybe = floats === 'new' ? text?.includes('e-') : text?.includes('.') || text?.includes('e')
  if (!maybe || !otherwise.test(text)) return text
  let out = ''
  let copied = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(text, at)
    else if (code < ZERO || code > NINE) at++
    else {
      const end = valueEnd(text, at)
      const number = text.slice(at, end)
      if (otherwise.test(number)) {
        out += text.slice(copied, at) + rubysNumber(number, floats)
        copied = end
      }
      at = end
    }
  }
  return out + text.slice(copied)
}

function rubysNumber(text: string, floats: Floats): string {
  const [digits = '', exponent = ''] = Number(text).toExponential().split('e')
  if (floats === 'new') return `0.${'0'.repeat(-Number(exponent) - 1)}${digits.replace('.', '')}`
  const places = exponent.slice(1).padStart(2, '0')
  return `${digits}${digits.includes('.') ? '' : '.0'}e${exponent[0]}${places}`
}

/** Where a top-level member stands: `from` (after the `{` or the comma), its value from `value` up to `end`. */
interface Member {
  key: string
  from: number
  value: number
  end: number
}

function membersOf(text: string): Member[] {
  const members: Member[] = []
  let from = expect(text, skipSpace(text, 0), OPEN_BRACE)
  let at = skipSpace(text, from)
  while (members.length > 0 || text.charCodeAt(at) !== CLOSE_BRACE) {
    expect(text, at, QUOTE)
    const keyEnd = stringEnd(text, at)
    const value = skipSpace(text, expect(text, skipSpace(text, keyEnd), COLON))
    const end = valueEnd(text, value)
    members.push({ key: decodeKey(text.slice(at, keyEnd)), from, value, end })
    at = skipSpace(text, end)
    if (text.charCodeAt(at) !== COMMA) break
    from = at + 1
    at = skipSpace(text, from)
  }
  const end = skipSpace(text, expect(text, at, CLOSE_BRACE))
  if (end < text.length) throw malformed(text, end)
  return members
}

function decodeKey(quoted: string): string {
  return quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1)
}

/** The index after the value that begins at `at`. */
function valueEnd(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return stringEnd(text, at)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return nestedEnd(text, at)
  let end = at
  while (end < text.length && !endsScalar(text.charCodeAt(end))) end++
  if (end === at) throw malformed(text, at)
  return end
}

function nestedEnd(text: string, at: number): number {
  let depth = 0
  let end = at
  while (end < text.length) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) {
      end = stringEnd(text, end)
      continue
    }
    end++
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return end
  }
  throw malformed(text, end)
}

/** The index after the string whose opening quote is at `at`. */
function stringEnd(text: string, at: number): number {
  let end = text.indexOf('"', at + 1)
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  if (end < 0) throw malformed(text, text.length)
  return end + 1
}

function isEscaped(text: string, at: number): boolean {
  let from = at
  while (text.charCodeAt(from - 1) === BACKSLASH) from--
  return (at - from) % 2 === 1
}

function skipSpace(text: string, at: number): number {
  let end = at
  while (isSpace(text.charCodeAt(end))) end++
  return end
}

function isSpace(code: number): boolean {
  return code <= 0x20 && (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09)
}

function endsScalar(code: number): boolean {
  return code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)
}

/** The index after the character `code`, which must stand at `at`. */
function expect(text: string, at: number, code: number): number {
  if (text.charCodeAt(at) !== code) throw malformed(text, at)
  return at + 1
}

function malformed(text: string, at: number): SyntaxError {
  const found = at < text.length ? `unexpected ${JSON.stringify(text[at])}` : 'unexpected end'
  return new SyntaxError(`not a JSON object: ${found} at position ${at}`)
}

/** What JSON calls an object: no list, and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns whether a value is an object that `for await` takes. */
export function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.iterator in value || Symbol.asyncIterator in value)
}

/** Collects an async iterable into an array. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/**
 * Calls `run` with each element, one after the other. An iterable may also yield promises of its elements. Other elements
 * are not awaited: that would cost as much as a push.
 */
export async function forEachOf<T>(
  elements: Iterable<T | PromiseLike<T>> | AsyncIterable<T>,
  run: (element: T) => Promise<void> | undefined,
): Promise<void> {
  if (Symbol.asyncIterator in elements) {
    for await (const element of elements) await run(element)
    return
  }
  for (const element of elements) {
    const running = run(isPromise(element) ? await element : element)
    if (running) await running
  }
}

export function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function'
}
