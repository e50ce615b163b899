import { HighkiqError } from '../../job/errors.ts'
import { CsvSplitter } from './csv-split.ts'
import { decoded, type Findings } from './encoding.ts'
import type { OpenSource } from './source.ts'
import { columnLetters, type SheetRow } from './table.ts'

const DELIMITERS = [',', ';', '\t', '|']

// How far to look for the end of the header line.
const MAX_HEADER_CHARS = 1024 * 1024

export interface CsvReading {
  delimiter?: string
  encoding?: string
}

/**
 * Every record of a CSV file, a blank line as [''], read as they are asked for and handed out in batches. Closes the
 * source at the end.
 * @throws HighkiqError INVALID_FILE with row and column; whatever a given stream fails with.
 */
export async function* csvRecords(
  source: OpenSource,
  { delimiter, encoding }: CsvReading = {},
): AsyncGenerator<SheetRow[], void, void> {
  if (delimiter !== undefined && !/^[^"\r\n]$/.test(delimiter)) {
    throw new HighkiqError('INVALID_OPTION', 'delimiter is one character, and neither a quote nor a line break')
  }
  const found: Findings = {}
  try {
    const text = decoded(source, encoding, found)
    const start = await headerText(text)
    const said = /^\uFEFF?sep=([^"\r\n])\r?\n/i.exec(start)
    const splitter = new CsvSplitter(delimiter ?? said?.[1] ?? delimiterOf(start))
    if (said) splitter.count = 1
    for await (const piece of joined(said ? start.slice(said[0].length) : start, text)) {
      const rows = splitter.split(piece)
      if (rows.length > 0) yield rows
      if (splitter.problem) throw splitter.problem
    }
    if (found.problem) throw notText(found, splitter.count + 1, splitter.unfinishedColumn)
    const rows = splitter.split('', true)
    if (rows.length > 0) yield rows
    if (splitter.problem) throw splitter.problem
  } finally {
    await source.close()
  }
}

/** Takes text until the header line is complete. */
async function headerText(text: AsyncGenerator<string, void, void>): Promise<string> {
  let start = ''
  while (start.length < MAX_HEADER_CHARS && headerLine(start) === undefined) {
    const next = await text.next()
    if (next.done) break
    start += next.value
  }
  return start
}

/** The first line that is not blank, without what is in quotes; undefined while its end has not come. */
function headerLine(text: string): string | undefined {
  let line = ''
  let quoted = false
  for (const char of text) {
    if (char === '"') quoted = !quoted
    else if (quoted) continue
    else if (char !== '\n' && char !== '\r') line += char
    else if (line.trim() === '') line = ''
    else return line
  }
  return undefined
}

function delimiterOf(start: string): string {
  const line = headerLine(`${start}\n`) ?? start
  let best = ','
  let most = 0
  for (const delimiter of DELIMITERS) {
    const count = line.split(delimiter).length - 1
    if (count > most) {
      best = delimiter
      most = count
    }
  }
  return best
}

async function* joined(start: string, rest: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  yield start
  yield* rest
}

const NAMES: Record<string, string> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16',
  gb18030: 'GB18030, as the text before it is',
}

/** Why the text ended where it did. */
export function notText({ problem, encoding = '', byte }: Findings, row: number, column?: number): HighkiqError {
  const letters = column === undefined ? undefined : columnLetters(column)
  const at = `row ${row}${letters ? `, column ${letters}` : ''}${byte === undefined ? '' : `, byte ${byte}`}`
  const details = { row, ...(letters ? { column: letters } : {}), ...(byte === undefined ? {} : { byte }) }
  const message =
    problem === 'nul'
      ? `${at}: there is a NUL character, so this is not a text file or its encoding is unknown: save it as "CSV UTF-8"`
      : `${at}: the text is not ${NAMES[encoding] ?? encoding}: save the file as "CSV UTF-8" and try again, or say its encoding`
  return new HighkiqError('INVALID_FILE', message, details)
}
