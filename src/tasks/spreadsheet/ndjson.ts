import { invalidFile, messageOf } from '../../job/errors.ts'
import { parseJson } from '../../job/json.ts'
import { type CsvReading, notText } from './csv.ts'
import { decoded } from './encoding.ts'
import { JsonElements } from './json-elements.ts'
import type { OpenSource } from './source.ts'
import { type FileRow, tooManyRows } from './table.ts'

// Without a limit a file without line breaks would be read into memory whole.
const MAX_LINE_CHARS = 16 * 1024 ** 2

/**
 * Yields the objects of an NDJSON file or a JSON list in batches, and reads the file only as fast as they are used. Blank
 * lines are skipped. Closes the source at the end.
 * @throws HighkiqError INVALID_FILE with the row; TOO_MANY_ROWS; whatever a given stream fails with.
 */
export async function* ndjsonRows(
  source: OpenSource,
  { maxRows, encoding, likely, found = {} }: Pick<CsvReading, 'encoding' | 'likely' | 'found'> & { maxRows: number },
): AsyncGenerator<FileRow[], void, void> {
  let texts: Lines | JsonElements | undefined
  let number = 0
  let count = 0
  const parse = function* (all: string[]): Generator<FileRow> {
    for (const text of all) {
      number++
      if (text.trim() === '' && texts instanceof Lines) continue
      const values = objectOf(text, number, texts instanceof Lines ? 'line' : 'element')
      if (count++ >= maxRows) throw tooManyRows(number, maxRows)
      yield { number, values }
    }
  }
  try {
    for await (const piece of decoded(source, encoding, found, likely)) {
      texts ??= splitterFor(piece)
      if (!texts) continue
      yield* batch(parse(texts.split(piece)))
      if (texts.length <= MAX_LINE_CHARS) continue
      const message = `row ${number + 1}: the object is longer than 16 MiB: each stands on a line of its own, or in a list`
      throw invalidFile(message, { problem: 'long-row', row: number + 1 })
    }
    if (found.problem) throw notText(found, number + 1)
    if (texts) yield* batch(parse(texts.end(number + 1)))
    if (count === 0)
      throw invalidFile('the file is empty: it needs a JSON object on each line', { problem: 'no-objects' })
  } finally {
    await source.close()
  }
}

/** Yields the rows before a fault as a batch, then throws the fault. */
function* batch(rows: Generator<FileRow>): Generator<FileRow[]> {
  const all: FileRow[] = []
  let problem: { thrown: unknown } | undefined
  try {
    for (const row of rows) all.push(row)
  } catch (thrown) {
    problem = { thrown }
  }
  if (all.length > 0) yield all
  if (problem) throw problem.thrown
}

/**
 * Decides by the first character that is not blank: a JSON list, or one object on each line. Undefined before that
 * character.
 */
function splitterFor(piece: string): Lines | JsonElements | undefined {
  const first = /[^\s\uFEFF]/.exec(piece)?.[0]
  if (first === undefined && !piece.includes('\n')) return undefined
  return first === '[' ? new JsonElements() : new Lines()
}

/** Splits text, piece by piece, into lines. */
class Lines {
  #isFirst = true
  #pieces: string[] = []
  length = 0

  split(piece: string): string[] {
    const lines = (this.#isFirst && piece.startsWith('\uFEFF') ? piece.slice(1) : piece).split('\n')
    this.#isFirst = false
    const rest = lines.pop() as string
    if (lines.length > 0) {
      // Joined with the end of the line, a long line is copied once.
      if (this.#pieces.length > 0) lines[0] = [...this.#pieces, lines[0]].join('')
      this.#pieces = []
      this.length = 0
    }
    this.#pieces.push(rest)
    this.length += rest.length
    return lines
  }

  /** The text after the last line break. */
  end(): string[] {
    return [this.#pieces.join('')]
  }
}

function objectOf(text: string, row: number, what: 'line' | 'element'): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    const message = `row ${row}: the ${what} is not JSON (${messageOf(error).replace(/\s+/g, ' ').slice(0, 200)}): each ${what} is one JSON object`
    throw invalidFile(message, { problem: 'no-object', row }, { cause: error })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  const is = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`
  throw invalidFile(`row ${row}: the ${what} is ${is}: each ${what} is one JSON object`, { problem: 'no-object', row })
}
