import { HighkiqError, messageOf } from '../../job/errors.ts'
import { parseJson } from '../../job/json.ts'
import { notText } from './csv.ts'
import { decoded, type Findings } from './encoding.ts'
import type { OpenSource } from './source.ts'

/** One line of NDJSON. */
export interface ObjectRow {
  /** The line, from 1. */
  number: number
  value: Record<string, unknown>
}

// A line this long is no line: without a limit the rest of the file would go into memory.
const MAX_LINE_CHARS = 16 * 1024 ** 2

/**
 * The objects of an NDJSON file, one a line, in batches, read as they are asked for; blank lines are passed over. Closes
 * the source at the end.
 * @throws HighkiqError INVALID_FILE with the row; TOO_MANY_ROWS; whatever a given stream fails with.
 */
export async function* ndjsonRows(
  source: OpenSource,
  { maxRows, encoding }: { maxRows: number; encoding?: string },
): AsyncGenerator<ObjectRow[], void, void> {
  const found: Findings = {}
  const lines = new Lines()
  let number = 0
  let count = 0
  const take = function* (texts: string[]): Generator<ObjectRow> {
    for (const text of texts) {
      number++
      if (text.trim() === '') continue
      const value = objectOf(text, number)
      if (count++ >= maxRows) {
        const message = `row ${number}: the file has more than ${maxRows} rows: split it, or allow more with maxRows`
        throw new HighkiqError('TOO_MANY_ROWS', message, { row: number, maxRows })
      }
      yield { number, value }
    }
  }
  try {
    for await (const piece of decoded(source, encoding, found)) {
      yield* batch(take(lines.split(number === 0 ? withoutMark(piece) : piece)))
      if (lines.length <= MAX_LINE_CHARS) continue
      const message = `row ${number + 1}: the line is longer than 16 MiB: each object stands on a line of its own`
      throw new HighkiqError('INVALID_FILE', message, { row: number + 1 })
    }
    if (found.problem) throw notText(found, number + 1)
    yield* batch(take([lines.rest]))
    if (count === 0) throw new HighkiqError('INVALID_FILE', 'the file is empty: it needs a JSON object on each line')
  } finally {
    await source.close()
  }
}

/** What was read comes before what could not be. */
function* batch(rows: Generator<ObjectRow>): Generator<ObjectRow[]> {
  const all: ObjectRow[] = []
  let problem: { thrown: unknown } | undefined
  try {
    for (const row of rows) all.push(row)
  } catch (thrown) {
    problem = { thrown }
  }
  if (all.length > 0) yield all
  if (problem) throw problem.thrown
}

function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** Text, piece by piece, as lines. */
class Lines {
  #pieces: string[] = []
  length = 0

  split(piece: string): string[] {
    const lines = piece.split('\n')
    const rest = lines.pop() as string
    if (lines.length > 0) {
      lines[0] = this.rest + lines[0]
      this.#pieces = []
      this.length = 0
    }
    this.#pieces.push(rest)
    this.length += rest.length
    return lines
  }

  get rest(): string {
    return this.#pieces.join('')
  }
}

function objectOf(text: string, row: number): Record<string, unknown> {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    const message = `row ${row}: the line is not JSON (${messageOf(error).replace(/\s+/g, ' ').slice(0, 200)}): each line is one JSON object`
    throw new HighkiqError('INVALID_FILE', message, { row }, { cause: error })
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  const is = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`
  throw new HighkiqError('INVALID_FILE', `row ${row}: the line is ${is}: each line is one JSON object`, { row })
}
