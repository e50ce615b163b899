import { invalidFile } from '../../job/errors.ts'
import { attribute, textPieces, XmlScanner } from './xml-scan.ts'

/** Returns the decoded value of an attribute; see `attribute`. */
export type ReadAttribute = (name: string) => string | undefined

// Far more sheets and parts than a program writes. Without a limit a small file could keep the process busy.
const MAX_ELEMENTS = 10_000

/**
 * Calls `visit` with the attributes of each element with one of these names in a part of a workbook.
 * @throws HighkiqError INVALID_FILE if there are more than 10,000 of them
 */
export async function visitElements(
  part: AsyncIterable<Buffer>,
  names: readonly string[],
  visit: (name: string, attributes: ReadAttribute) => void,
): Promise<void> {
  const elements = new Elements(names, visit)
  for await (const piece of textPieces(part)) {
    elements.feed(piece)
    elements.run()
  }
  elements.end()
}

class Elements extends XmlScanner {
  readonly #names: readonly string[]
  readonly #visit: (name: string, attributes: ReadAttribute) => void
  #count = 0

  constructor(names: readonly string[], visit: (name: string, attributes: ReadAttribute) => void) {
    super()
    this.#names = names
    this.#visit = visit
  }

  protected open(name: string, text: string, from: number, to: number): void {
    if (!this.#names.includes(name)) return
    if (++this.#count > MAX_ELEMENTS) {
      throw invalidFile(
        `the workbook has more than ${MAX_ELEMENTS} sheets or parts: save the sheet as CSV, or split it`,
      )
    }
    this.#visit(name, (wanted) => attribute(text, from, to, wanted))
  }

  protected text(): void {}

  protected close(): void {}
}
