import { attribute, XmlScanner } from './xml-scan.ts'

/**
 * The kind of a number with a date format: a date, perhaps with a time of day; a time of day; or elapsed time, which
 * may exceed 24 hours.
 */
export type DateStyle = 'date' | 'time' | 'elapsed'

/** Returns the kind that each style of a workbook shows, by the number of the style; undefined for plain numbers. */
export function dateStyles(xml: string): (DateStyle | undefined)[] {
  const styles = new Styles()
  styles.feed(xml)
  styles.run()
  styles.end()
  const { cells, formats } = styles
  return cells.map((format) => (formats.has(format) ? formats.get(format) : dateStyleOfNumber(format)))
}

class Styles extends XmlScanner {
  /** The kinds of the workbook's own formats, each found once: millions of styles may have the same one. */
  readonly formats = new Map<number, DateStyle | undefined>()
  readonly cells: number[] = []
  #inFormats = false
  #inCells = false

  protected open(name: string, text: string, from: number, to: number): void {
    if (name === 'numFmts') this.#inFormats = true
    else if (name === 'cellXfs') this.#inCells = true
    else if (name === 'xf' && this.#inCells) this.cells.push(Number(attribute(text, from, to, 'numFmtId') ?? 0))
    else if (name === 'numFmt' && this.#inFormats) {
      const code = attribute(text, from, to, 'formatCode')
      if (code) this.formats.set(Number(attribute(text, from, to, 'numFmtId')), dateStyleOf(code))
    }
  }

  protected text(): void {}

  protected close(name: string): void {
    if (name === 'numFmts') this.#inFormats = false
    else if (name === 'cellXfs') this.#inCells = false
  }
}

/** The formats that every program knows by number; those from 27 on are of East Asia. */
function dateStyleOfNumber(id: number): DateStyle | undefined {
  if (id === 46) return 'elapsed'
  if ((id >= 18 && id <= 21) || id === 45 || id === 47 || (id >= 32 && id <= 35)) return 'time'
  const isDate = (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58)
  return isDate ? 'date' : undefined
}

/** Returns the kind that a code like 'dd.mm.yyyy' shows. `mm` alone does not count, since it may be minutes. */
export function dateStyleOf(code: string): DateStyle | undefined {
  if (/\[(?:h+|m+|s+)\]/i.test(code)) return 'elapsed'
  // Words, and colours and currencies in brackets, are removed; each of them separates its neighbours.
  const bare = code.replace(/"[^"]*"|\\.|[*_].|\[[^[\]]*\]/g, ' ')
  if (/[yd]|m{3}/i.test(bare)) return 'date'
  return /am\/pm|a\/p|(?<![a-z])(?:h{1,2}|s{1,2})(?![a-z])/i.test(bare) ? 'time' : undefined
}
