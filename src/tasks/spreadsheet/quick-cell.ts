import { tagEnd } from './xml-scan.ts'

const QUOTE = 0x22
const EQUALS = 0x3d

/** Returns the spelling of a cell's tags in a document. A prefix, as in `<x:c>`, ends with its colon. */
function shapeWith(prefix: string) {
  const tag = (name: string) => `<${prefix}${name}`
  const end = (name: string) => `</${prefix}${name}>`
  return {
    open: tag('c'),
    formula: tag('f'),
    formulaEnd: end('f'),
    value: `${tag('v')}>`,
    valueEnd: end('v') + end('c'),
    inline: `${tag('is')}>${tag('t')}`,
    inlineEnd: end('t') + end('is') + end('c'),
    end: end('c'),
  }
}

const PRESERVE = ' xml:space="preserve">'

/**
 * Finds the parts of a cell that is written as nearly all programs do: `r`, `s` and `t` in double quotes, and in it at
 * most a formula and a value, or one inline text.
 */
export class QuickCell {
  /** The column from 0; -1 if the cell does not give it. */
  column = -1
  /** The number of its style; -1 if the cell does not give it. */
  style = -1
  type = ''
  /** The range of its value or inline text, with entities; empty if it has none. */
  from = 0
  to = 0
  /** True for a cell with a formula whose result is not stored. */
  lacksResult = false
  readonly #shape: ReturnType<typeof shapeWith>

  constructor(prefix: string) {
    this.#shape = shapeWith(prefix)
  }

  /** @returns where the cell ends; -1 if it is incomplete or of another shape */
  read(text: string, start: number): number {
    const shape = this.#shape
    if (!text.startsWith(shape.open, start)) return -1
    let at = this.#attributes(text, start + shape.open.length)
    if (at === -1) return -1
    this.from = at
    this.to = at
    this.lacksResult = false
    if (text.charCodeAt(at) === 0x2f) return text.charCodeAt(at + 1) === 0x3e ? at + 2 : -1
    at++
    if (this.type === 'inlineStr') {
      if (!text.startsWith(shape.inline, at)) return -1
      at += shape.inline.length
      if (text.charCodeAt(at) === 0x3e) at++
      else if (text.startsWith(PRESERVE, at)) at += PRESERVE.length
      else return -1
      return this.#content(text, at, shape.inlineEnd)
    }
    if (text.startsWith(shape.value, at)) return this.#content(text, at + shape.value.length, shape.valueEnd)
    if (text.startsWith(shape.formula, at)) {
      at = this.#afterFormula(text, at)
      if (at === -1) return -1
      this.lacksResult = true
      if (text.startsWith(shape.value, at)) {
        const end = this.#content(text, at + shape.value.length, shape.valueEnd)
        // An empty text is a result.
        this.lacksResult = this.from === this.to && this.type !== 'str'
        return end
      }
    }
    return text.startsWith(shape.end, at) ? at + shape.end.length : -1
  }

  /** @returns where the tag's `>` or `/` is */
  #attributes(text: string, from: number): number {
    this.column = -1
    this.style = -1
    this.type = 'n'
    let at = from
    while (text.charCodeAt(at) === 0x20) {
      const name = text.charCodeAt(at + 1)
      if (text.charCodeAt(at + 2) !== EQUALS || text.charCodeAt(at + 3) !== QUOTE) return -1
      at += 4
      if (name === 0x72) {
        let column = 0
        let code = text.charCodeAt(at)
        // The caller, which knows the row, refuses columns that no sheet has.
        for (let end = at + 4; code >= 0x41 && code <= 0x5a && at < end; code = text.charCodeAt(++at)) {
          column = column * 26 + code - 0x40
        }
        while (code >= 0x30 && code <= 0x39) code = text.charCodeAt(++at)
        if (column === 0) return -1
        this.column = column - 1
      } else if (name === 0x73) {
        let style = 0
        let code = text.charCodeAt(at)
        for (; code >= 0x30 && code <= 0x39; code = text.charCodeAt(++at)) style = style * 10 + code - 0x30
        this.style = style
      } else if (name === 0x74) {
        const type = typeAt(text, at)
        if (type === undefined) return -1
        this.type = type
        at += type.length
      } else {
        return -1
      }
      if (text.charCodeAt(at) !== QUOTE) return -1
      at++
    }
    const code = text.charCodeAt(at)
    return code === 0x3e || code === 0x2f ? at : -1
  }

  #content(text: string, from: number, end: string): number {
    const to = text.indexOf('<', from)
    if (to === -1 || !text.startsWith(end, to)) return -1
    this.from = from
    this.to = to
    return to + end.length
  }

  #afterFormula(text: string, at: number): number {
    const open = tagEnd(text, at)
    if (open === -1) return -1
    if (text.charCodeAt(open - 1) === 0x2f) return open + 1
    const end = text.indexOf('<', open)
    return end !== -1 && text.startsWith(this.#shape.formulaEnd, end) ? end + this.#shape.formulaEnd.length : -1
  }
}

function typeAt(text: string, at: number): string | undefined {
  const code = text.charCodeAt(at)
  if (code === 0x73) return text.charCodeAt(at + 1) === QUOTE ? 's' : text.startsWith('str"', at) ? 'str' : undefined
  if (code === 0x69) return text.startsWith('inlineStr"', at) ? 'inlineStr' : undefined
  if (text.charCodeAt(at + 1) !== QUOTE) return undefined
  return code === 0x62 ? 'b' : code === 0x6e ? 'n' : code === 0x65 ? 'e' : undefined
}
