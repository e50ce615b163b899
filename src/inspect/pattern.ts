/** Searches in the texts of jobs. */

export interface Search {
  /** Every text that matches contains this. */
  needle: string
  /** Whether parts of the texts are hidden from the viewer: then no answer may depend on a needle in such a part. */
  hides?: boolean
  matches(text: string): boolean
}

/**
 * Returns the search for a pattern, as in Redis: `*` matches any characters, `?` one, `[a-z]` one of a class, and `\`
 * escapes the next character. A pattern without `*` matches as a substring, so that you can paste a piece of JSON.
 */
export function searchOf(pattern: string): Search {
  if (!pattern.includes('*')) return { needle: pattern, matches: (text) => text.includes(pattern) }
  const segments = [new Segment()]
  for (const part of pattern.match(/\\.|\[(?:\\.|[^\]\\])+\]|./gsu) ?? []) {
    if (part === '*') segments.push(new Segment())
    else segments.at(-1)?.add(part)
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
    const isLast = i === segments.length - 1
    const expression = new RegExp(segment.source + (isLast ? '$' : ''), i === 0 ? 'ysu' : 'gsu')
    expression.lastIndex = at
    if (!expression.test(text)) return false
    at = expression.lastIndex
  }
  return true
}

/** The part of a pattern between two stars. */
class Segment {
  source = ''
  readonly literals = ['']

  add(part: string): void {
    const isClass = part.length > 1 && part.startsWith('[')
    if (part === '?' || isClass) {
      this.source += isClass ? classOf(part) : '.'
      this.literals.push('')
    } else {
      const literal = part.length > 1 ? part.slice(1) : part
      this.source += escaped(literal)
      this.literals.push(this.literals.pop() + literal)
    }
  }
}

function classOf(part: string): string {
  const not = part.startsWith('[^') ? '^' : ''
  const inside = part.slice(1 + not.length, -1).replace(/\\(.)/gsu, '$1')
  const chars = [...inside]
  // A hyphen between two characters makes a range if the range is ascending.
  const isRange = (i: number) => chars[i] === '-' && (chars[i - 1] ?? '') <= (chars[i + 1] ?? '') && i > 0
  return `[${not}${chars.map((char, i) => (isRange(i) ? '-' : char === '-' ? '\\-' : escaped(char))).join('')}]`
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/gu, '\\$&')
}
