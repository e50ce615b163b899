/** Finds members of JSON inside other text, for example in the message of an error, also where the text was cut. */

import { parseJson, stringifyJson } from '../../job/json.ts'

export interface MemberRule {
  /** Whether the rule looks at names only. It then gets undefined as the value. */
  isByName: boolean
  /** Returns what is shown instead of the value; the value itself to show it. */
  show(name: string, value: unknown): unknown
}

/** The longest name of a member that is looked for. */
const LONGEST_NAME = 200
/** After this many characters were read more than once, because values nest, the rest of a text is hidden. */
const MOST_READ = 1_000_000
const REST = '[redacted: the rest]'

/**
 * Returns the text with the shown values of its members. It finds `"name": value`, also where the quotes are escaped,
 * because the JSON is inside a string of other JSON.
 */
export function redactMembers(text: string, { isByName, show }: MemberRule): string {
  let out = ''
  let from = 0
  let read = 0
  for (const { index, 0: colon } of text.matchAll(/"\s*:\s*/g)) {
    if (index < from) continue
    const slashes = backslashesBefore(text, index)
    const name = nameBefore(text, index - slashes.length, `${slashes}"`)
    if (name === undefined || (isByName && show(name, undefined) === undefined)) continue
    const at = index + colon.length
    const end = endOfValue(text, at, slashes)
    read += end - at
    if (read > MOST_READ + text.length) return out + text.slice(from, at) + REST
    const value = isByName ? undefined : parsedValue(text.slice(at, end), slashes)
    const shown = show(name, value)
    if (shown === value) continue
    out += text.slice(from, at) + stringifyJson(shown).replaceAll('"', `${slashes}"`)
    from = end
  }
  return out + text.slice(from)
}

function backslashesBefore(text: string, index: number, first = 0): string {
  let begin = index
  while (begin > first && text[begin - 1] === '\\') begin--
  return text.slice(begin, index)
}

/** Returns the text between a quote and `end`, where the closing quote is. */
function nameBefore(text: string, end: number, quote: string): string | undefined {
  const near = text.slice(Math.max(end - LONGEST_NAME, 0), end)
  const at = near.lastIndexOf(quote)
  return at === -1 ? undefined : near.slice(at + quote.length)
}

/** Returns the index after the value that begins at `at`; the end of a text that was cut inside it. */
function endOfValue(text: string, at: number, slashes: string): number {
  const quote = `${slashes}"`
  if (text.startsWith(quote, at)) return endOfString(text, at + quote.length, slashes)
  if (text[at] !== '{' && text[at] !== '[') {
    const scalar = /[^\s,}\]"\\]*/y
    scalar.lastIndex = at
    scalar.test(text)
    return scalar.lastIndex
  }
  let depth = 0
  for (let i = at; i < text.length; i++) {
    const char = text[i]
    if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return i + 1
    else if (text.startsWith(quote, i)) i = endOfString(text, i + quote.length, slashes) - 1
  }
  return text.length
}

/** A string ends at a quote with as many backslashes as its first one; more of them belong to the string in pairs. */
function endOfString(text: string, begin: number, { length }: string): number {
  for (let at = text.indexOf('"', begin); at !== -1; at = text.indexOf('"', at + 1)) {
    const { length: before } = backslashesBefore(text, at, begin)
    if (before >= length && (before - length) % (2 * (length + 1)) === 0) return at + 1
  }
  return text.length
}

/** Returns the parsed value; its text when it was cut. */
function parsedValue(text: string, slashes: string): unknown {
  try {
    return parseJson(slashes === '' ? text : text.replaceAll(`${slashes}"`, '"'))
  } catch {
    return text
  }
}
