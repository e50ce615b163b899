import { attribute, XmlScanner } from './xml-scan.ts'

/** Which styles of a workbook show a number as a date or a time: by the number that cells name their style with. */
export function dateStyles(xml: string): boolean[] {
  const styles = new Styles()
  styles.feed(xml)
  styles.run()
  styles.end()
  return styles.cells.map((format) => {
    const code = styles.formats.get(format)
    return code ? showsDate(code) : isDateFormat(format)
  })
}

class Styles extends XmlScanner {
  readonly formats = new Map<number, string>()
  readonly cells: number[] = []
  #inFormats = false
  #inCells = false

  protected open(name: string, text: string, from: number, to: number): void {
    if (name === 'numFmts') this.#inFormats = true
    else if (name === 'cellXfs') this.#inCells = true
    else if (name === 'xf' && this.#inCells) this.cells.push(Number(attribute(text, from, to, 'numFmtId') ?? 0))
    else if (name === 'numFmt' && this.#inFormats) {
      this.formats.set(Number(attribute(text, from, to, 'numFmtId')), attribute(text, from, to, 'formatCode') ?? '')
    }
  }

  protected text(): void {}

  protected close(name: string): void {
    if (name === 'numFmts') this.#inFormats = false
    else if (name === 'cellXfs') this.#inCells = false
  }
}

/** The formats that every program knows by number; those from 27 on are of East Asia. */
function isDateFormat(id: number): boolean {
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58)
}

/** Whether a code like 'dd.mm.yyyy' is one of a date. `mm` alone may be minutes of nothing: it does not count. */
export function showsDate(code: string): boolean {
  // Time that has passed: [h]:mm
  if (/\[(?:h+|m+|s+)\]/i.test(code)) return true
  // Neither words, nor colours and currencies in brackets.
  const bare = code.replace(/"[^"]*"|\\.|[*_].|\[[^\]]*\]/g, '')
  return /[yd]|m{3}|am\/pm|a\/p|(?<![a-z])(?:h{1,2}|s{1,2})(?![a-z])/i.test(bare)
}
