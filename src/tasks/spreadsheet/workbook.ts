/**
 * Reads the rows of one sheet from the zip archive of a workbook: small parts whole, the sheet in pieces.
 */
import type { Entry } from 'yauzl'
import { type HighkiqError, invalidFile } from '../../job/errors.ts'
import { shown } from '../../job/options.ts'
import { dateStyles } from './date-style.ts'
import type { Findings } from './encoding.ts'
import type { TableRow } from './table.ts'
import { TableMemory } from './table-memory.ts'
import { TextTable } from './text-table.ts'
import { WorksheetScanner } from './worksheet-scan.ts'
import { visitElements } from './xml-elements.ts'
import { textPieces } from './xml-scan.ts'
import type { CheckedZip } from './zip-check.ts'

/**
 * Yields the rows of one sheet in batches, and reads it only as fast as they are used. Returns an error if the sheet is
 * empty and there are others.
 * @throws HighkiqError INVALID_FILE, with row and column where one is at fault; whatever a part fails with.
 */
export async function* sheetRows(
  zip: CheckedZip,
  sheet: string | number | undefined,
  found: Findings = {},
): AsyncGenerator<TableRow[], HighkiqError | undefined, void> {
  const memory = new TableMemory()
  try {
    const workbook = await findWorkbook(zip, sheet)
    found.sheet = workbook.name
    found.sheets = workbook.names
    let isEmpty = true
    const scanner = new WorksheetScanner({
      texts: workbook.texts ? await tableOfTexts(zip, workbook.texts, memory) : [],
      dateStyles: workbook.styles ? dateStyles(await text(zip, workbook.styles)) : [],
      date1904: workbook.date1904,
    })
    // To the end even when the cells ended before it: only then is the checksum known.
    for await (const piece of textPieces(zip.content(workbook.sheet))) {
      if (scanner.done) continue
      scanner.feed(piece)
      for (let whole = false; !whole; ) {
        whole = scanner.run()
        const rows = scanner.drain()
        if (rows.length === 0) continue
        isEmpty &&= rows.every(({ values }) => values.every((value) => value === ''))
        yield rows
      }
    }
    scanner.end()
    return isEmpty && workbook.names.length > 1 ? emptySheet(workbook) : undefined
  } finally {
    memory.release()
  }
}

function emptySheet({ name, names }: { name: string; names: string[] }): HighkiqError {
  const hint = 'name another sheet with sheet'
  const message = `the sheet ${shown(name)} is empty: ${hint} (there are ${names.map(shown).join(', ')})`
  return invalidFile(message, { problem: 'empty-sheet', sheet: name, sheets: names, option: 'sheet', hint })
}

/** Finds the parts of the archive that make up one sheet. */
async function findWorkbook(zip: CheckedZip, wanted: string | number | undefined) {
  const path = (await relationships(zip, '')).byType.get('officeDocument')
  const entryAt = (target: string | undefined) =>
    target === undefined ? undefined : zip.entries.get(target.toLowerCase())
  const main = entryAt(path)
  if (path?.endsWith('.bin')) {
    throw invalidFile('the file is a binary workbook (.xlsb): open it in Excel and save it as .xlsx', {
      problem: 'binary-workbook',
    })
  }
  if (path === undefined || main === undefined || !path.endsWith('.xml')) {
    throw invalidFile('the file is a zip archive, but not an .xlsx workbook: save it as .xlsx', { problem: 'zip' })
  }
  const related = await relationships(zip, path)
  const properties: (string | undefined)[] = []
  const sheets: { name: string; hidden: boolean; entry: Entry }[] = []
  await visitElements(smallPart(zip, main), ['workbookPr', 'sheet'], (element, attributes) => {
    if (element === 'workbookPr') properties.push(attributes('date1904'))
    const entry = element === 'sheet' ? entryAt(related.sheets.get(attributes(':id') ?? '')) : undefined
    if (!entry) return
    sheets.push({ name: attributes('name') ?? '', hidden: /hidden/i.test(attributes('state') ?? ''), entry })
  })
  const found =
    typeof wanted === 'string'
      ? sheets.find((sheet) => sheet.name === wanted)
      : wanted === undefined
        ? (sheets.find((sheet) => !sheet.hidden) ?? sheets[0])
        : sheets[wanted]
  if (!found) {
    const names = sheets.map((sheet) => shown(sheet.name)).join(', ') || 'none'
    const which = wanted === undefined ? 'a sheet' : `the sheet ${shown(wanted)}`
    throw invalidFile(`the workbook does not have ${which}: its sheets are ${names}`, {
      problem: 'no-sheet',
      known: sheets.map((sheet) => sheet.name),
    })
  }
  return {
    sheet: found.entry,
    name: found.name,
    names: sheets.map(({ name }) => name),
    texts: entryAt(related.byType.get('sharedStrings')),
    styles: entryAt(related.byType.get('styles')),
    date1904: properties[0] === '1' || properties[0] === 'true',
  }
}

/** The paths of the parts to which a part refers: the first one of each type, and the sheets by their ids. */
interface Relationships {
  /** A type is known by its last word, which is the same in all dialects. */
  byType: Map<string, string>
  sheets: Map<string, string>
}

async function relationships(zip: CheckedZip, part: string): Promise<Relationships> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1)
  const entry = zip.entries.get(`${folder}_rels/${part.slice(folder.length)}.rels`.toLowerCase())
  const found: Relationships = { byType: new Map(), sheets: new Map() }
  if (!entry) return found
  await visitElements(smallPart(zip, entry), ['Relationship'], (_, attributes) => {
    const type = attributes('Type')?.split('/').at(-1) ?? ''
    const target = attributes('Target') ?? ''
    // A URL resolves '../x' and '/x' the way these targets are meant.
    const path = decodeURI(new URL(encodeURI(target), `file:///${folder}`).pathname.slice(1))
    if (!found.byType.has(type)) found.byType.set(type, path)
    const id = type === 'worksheet' ? attributes('Id') : undefined
    if (id !== undefined && !found.sheets.has(id)) found.sheets.set(id, path)
  })
  return found
}

// The limit for a part whose text or names stay in memory. Such parts of real workbooks are a thousand times smaller.
const MAX_PART_BYTES = 64 * 1024 ** 2

/** Returns the content of a part other than a sheet or the texts. @throws INVALID_FILE if it is too large */
function smallPart(zip: CheckedZip, entry: Entry): AsyncGenerator<Buffer, void, void> {
  if (entry.uncompressedSize > MAX_PART_BYTES) throw tooLarge(entry)
  return zip.content(entry)
}

async function text(zip: CheckedZip, entry: Entry): Promise<string> {
  const pieces: string[] = []
  for await (const piece of textPieces(smallPart(zip, entry))) pieces.push(piece)
  return pieces.join('').replace(/^\uFEFF/, '')
}

const MAX_TEXTS_BYTES = 500 * 1024 ** 2

// What the table takes of the heap: a text is mostly a piece of the XML it came in, which may have two bytes a
// character.
const HEAP_PER_TEXT = 64
const HEAP_PER_CHAR = 2

/** Returns the table of texts. @throws INVALID_FILE if the memory is too small for it */
async function tableOfTexts(zip: CheckedZip, entry: Entry, memory: TableMemory): Promise<string[]> {
  if (entry.uncompressedSize > MAX_TEXTS_BYTES) throw tooLarge(entry)
  const table = new TextTable()
  let chars = 0
  for await (const piece of textPieces(zip.content(entry))) {
    table.feed(piece)
    table.run()
    chars += piece.length
    if (!memory.reserve(table.texts.length * HEAP_PER_TEXT + chars * HEAP_PER_CHAR)) throw tooLarge(entry)
  }
  table.end()
  return table.texts
}

function tooLarge(entry: Entry): HighkiqError {
  const size = `${Math.ceil(entry.uncompressedSize / 1024 ** 2)} MB`
  const message =
    `the workbook has ${size} of ${entry.fileName}, more than fits into memory: ` +
    'save it as CSV, split it, or start Node with a larger --max-old-space-size'
  return invalidFile(message, { problem: 'too-large', entry: entry.fileName })
}
