/** Searches in the texts of jobs. */

import { invalidOption } from '../job/errors.ts'
import { count } from '../job/plural.ts'

export interface Search {
  /** Every text that matches contains this. */
  needle: string
  /** Whether parts of the texts are hidden from the viewer: then no answer may depend on a needle in such a part. */
  hides?: boolean
  matches(text: string): boolean
}

/** The time to read a pattern can grow with the square of its length. */
const LONGEST = 10_000
/** The time of a search grows with the length of the text, multiplied by that of a piece with wildcards. */
const MOST_WILD = 100

/**
 * Returns the search for a pattern, as in Redis: `*` matches any characters, `?` one, `[a-z]` one of a class, and `\`
 * escapes the next character. A pattern without `*` matches as a substring, so that you can paste a piece of JSON.
 * @throws INVALID_OPTION for a pattern whose search could take long
 */
export function searchOf(pattern: string): Search {
  if (!pattern.includes('*')) return { needle: pattern, matches: (text) => text.includes(pattern) }
  if (pattern.length > LONGEST) {
    throw invalidOption(
      `a pattern with * may have at most ${count(LONGEST)} characters (got ${count(pattern.length)})`,
      {
        problem: 'long-pattern',
        most: LONGEST,
      },
    )
  }
  const segments = [new Segment()]
  for (const part of pattern.match(/\\.|\[(?:\\.|[^\]\\])+\]|./gsu) ?? []) {
    if (part === '*') segments.push(new Segment())
    else segments.at(-1)?.add(part)
  }
  const long = segments.find((segment) => !segment.isLiteral && segment.length > MOST_WILD)
  if (long) {
    const most = `at most ${MOST_WILD} characters if it has ? or [ ] (got ${long.length})`
    throw invalidOption(`a part of a pattern without * may have ${most}: split it with a *`, {
      problem: 'long-part',
      most: MOST_WILD,
    })
  }
  const literals = segments.flatMap(({ literals }) => literals)
  const needle = literals.reduce((longest, one) => (one.length > longest.length ? one : longest), '')
  return { needle, matches: (text) => matches(segments, text) }
}

/**
 * Matches the first segment at the start of the text, the last one at its end, and the others as early as possible in
 * between. So it never backtracks between segments, however long the text is.
 */
function matches(segments: readonly Segment[], text: string): boolean {
  let at = 0
  for (const [i, segment] of segments.entries()) {
    at = segment.endIn(text, at, i === 0, i === segments.length - 1)
    if (at === -1) return false
  }
  return true
}

/** The part of a pattern between two stars. */
class Segment {
  length = 0
  readonly literals = ['']
  #source = ''
  #expression: RegExp | undefined

  add(part: string): void {
    this.length++
    const isClass = part.length > 1 && part.startsWith('[')
    if (part === '?' || isClass) {
      this.#source += isClass ? classOf(part) : '.'
      this.literals.push('')
    } else {
      const literal = part.length > 1 && part.startsWith('\\') ? part.slice(1) : part
      this.#source += escaped(literal)
      this.literals.push(this.literals.pop() + literal)
    }
  }

  get isLiteral(): boolean {
    return this.literals.length === 1
  }

  /** Returns the index behind the first place of the segment in the text from `at` on; -1 when there is none. */
  endIn(text: string, at: number, isFirst: boolean, isLast: boolean): number {
    if (!this.isLiteral) {
      this.#expression ??= new RegExp(this.#source + (isLast ? '$' : ''), isFirst ? 'ysu' : 'gsu')
      const expression = this.#expression
      expression.lastIndex = at
      return expression.test(text) ? expression.lastIndex : -1
    }
    // A regular expression would take time that grows with the product of both lengths.
    const [literal = ''] = this.literals
    const found = isFirst ? 0 : isLast ? text.length - literal.length : text.indexOf(literal, at)
    const end = found + literal.length
    const isThere = found >= at && text.startsWith(literal, found) && (!isLast || end === text.length)
    return isThere ? end : -1
  }
}

function classOf(part: string): string {
  const not = part.startsWith('[^') ? '^' : ''
  const inside = part.slice(1 + not.length, -1).replace(/\\(.)/gsu, '$1')
  const chars = [...inside]
  // A hyphen between two characters makes a range if the range is ascending.
  const codeAt = (i: number) => chars[i]?.codePointAt(0) ?? -1
  const isRange = (i: number) => chars[i] === '-' && i > 0 && codeAt(i - 1) <= codeAt(i + 1)
  return `[${not}${chars.map((char, i) => (isRange(i) ? '-' : char === '-' ? '\\-' : escaped(char))).join('')}]`
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&')
}
