/**
 * Reads the rows of one sheet from the zip archive of a workbook: small parts whole, the sheet in pieces.
 */
import { getHeapStatistics } from 'node:v8'
import { readXml } from 'hucre/xml'
import type { Entry } from 'yauzl'
import { type HighkiqError, invalidFile } from '../../job/errors.ts'
import { shown } from '../../job/options.ts'
import { dateStyles } from './date-style.ts'
import type { Findings } from './encoding.ts'
import type { TableRow } from './table.ts'
import { TextTable } from './text-table.ts'
import { WorksheetScanner } from './worksheet-scan.ts'
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
  const workbook = await findWorkbook(zip, sheet)
  found.sheet = workbook.name
  found.sheets = workbook.names
  let isEmpty = true
  const scanner = new WorksheetScanner({
    texts: workbook.texts ? await tableOfTexts(zip, workbook.texts) : [],
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
}

function emptySheet({ name, names }: { name: string; names: string[] }): HighkiqError {
  const hint = 'name another one with sheet'
  const message = `the sheet ${shown(name)} is empty: ${hint} (there are ${names.map(shown).join(', ')})`
  return invalidFile(message, { option: 'sheet', hint, sheets: names })
}

/** Finds the parts of the archive that make up one sheet. */
async function findWorkbook(zip: CheckedZip, wanted: string | number | undefined) {
  const root = await relationships(zip, '')
  const path = root.find((relationship) => relationship.type === 'officeDocument')?.path
  const main = path === undefined ? undefined : zip.entries.get(path.toLowerCase())
  if (path?.endsWith('.bin')) {
    throw invalidFile('the file is a binary workbook (.xlsb): open it in Excel and save it as .xlsx')
  }
  if (path === undefined || main === undefined || !path.endsWith('.xml')) {
    throw invalidFile('the file is a zip archive, but not an .xlsx workbook: save it as .xlsx')
  }
  const related = await relationships(zip, path)
  const xml = await text(zip, main)
  const date1904 = elements(xml, 'workbookPr')[0]?.['@date1904']
  const sheets = elements(xml, 'sheet').flatMap((element) => {
    const id = Object.entries(element).find(([name]) => name.endsWith(':id'))?.[1]
    const target = related.find((relationship) => relationship.id === id && relationship.type === 'worksheet')
    const entry = target && zip.entries.get(target.path.toLowerCase())
    return entry ? [{ name: String(element['@name']), hidden: /hidden/i.test(String(element['@state'])), entry }] : []
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
    throw invalidFile(`the workbook does not have ${which}: its sheets are ${names}`)
  }
  const partOf = (type: string) => {
    const target = related.find((relationship) => relationship.type === type)
    return target && zip.entries.get(target.path.toLowerCase())
  }
  return {
    sheet: found.entry,
    name: found.name,
    names: sheets.map(({ name }) => name),
    texts: partOf('sharedStrings'),
    styles: partOf('styles'),
    date1904: date1904 === '1' || date1904 === 'true',
  }
}

/** Returns the parts that a part refers to. `type` is the last word of the type, the same in all dialects. */
async function relationships(zip: CheckedZip, part: string): Promise<{ id: string; type: string; path: string }[]> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1)
  const entry = zip.entries.get(`${folder}_rels/${part.slice(folder.length)}.rels`.toLowerCase())
  if (!entry) return []
  return elements(await text(zip, entry), 'Relationship').map((element) => ({
    id: String(element['@Id']),
    type: String(element['@Type']).split('/').at(-1) ?? '',
    // A URL resolves '../x' and '/x' the way these targets are meant.
    path: decodeURI(new URL(encodeURI(String(element['@Target'])), `file:///${folder}`).pathname.slice(1)),
  }))
}

function elements(xml: string, name: string): Record<string, unknown>[] {
  return readXml(xml, { rowTag: name, stripNamespaces: true }).data as Record<string, unknown>[]
}

// Parts that are read whole. Those of real workbooks are a thousand times smaller.
const MAX_PART_BYTES = 64 * 1024 ** 2

async function text(zip: CheckedZip, entry: Entry): Promise<string> {
  if (entry.uncompressedSize > MAX_PART_BYTES) throw tooLarge(entry)
  const pieces: string[] = []
  for await (const piece of textPieces(zip.content(entry))) pieces.push(piece)
  return pieces.join('').replace(/^\uFEFF/, '')
}

const MAX_TEXTS_BYTES = 500 * 1024 ** 2

// What the table takes of the heap: a text is mostly a piece of the XML it came in, which may have two bytes a
// character. Running out of memory would end the process and every other job in it.
const HEAP_PER_TEXT = 64
const HEAP_PER_CHAR = 2

/** Returns the table of texts. @throws INVALID_FILE if the memory is too small for it */
async function tableOfTexts(zip: CheckedZip, entry: Entry): Promise<string[]> {
  if (entry.uncompressedSize > MAX_TEXTS_BYTES) throw tooLarge(entry)
  const heap = getHeapStatistics()
  const free = heap.heap_size_limit - heap.used_heap_size
  const table = new TextTable()
  let chars = 0
  for await (const piece of textPieces(zip.content(entry))) {
    table.feed(piece)
    table.run()
    chars += piece.length
    if (table.texts.length * HEAP_PER_TEXT + chars * HEAP_PER_CHAR > free) throw tooLarge(entry)
  }
  table.end()
  return table.texts
}

function tooLarge(entry: Entry): HighkiqError {
  const size = `${Math.ceil(entry.uncompressedSize / 1024 ** 2)} MB`
  const message =
    `the workbook has ${size} of ${entry.fileName}, more than fits into memory: ` +
    'save it as CSV, split it, or start Node with a larger --max-old-space-size'
  return invalidFile(message, { entry: entry.fileName })
}
