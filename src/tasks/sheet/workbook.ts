/**
 * The way from a zip archive to the rows of one sheet.
 *
 * hucre's reader streams only if the parts of the archive come in a certain order, with certain names and with their
 * sizes in front, which is what neither Excel nor hucre itself writes; otherwise it loads the archive whole. And it
 * parses as fast as it gets bytes, whether or not anybody takes the rows. So it is given an archive of our own making:
 * just the parts it needs in the order it likes, unpacked, the sheet last and handed out piece by piece on demand.
 */
import { getHeapStatistics } from 'node:v8'
import { type StreamRow, streamXlsxRows } from 'hucre/xlsx'
import { readXml } from 'hucre/xml'
import type { Entry } from 'yauzl'
import { HighkiqError } from '../../job/errors.ts'
import type { CheckedZip } from './zip-check.ts'

/** The parts of the archive that make up one sheet. */
interface Workbook {
  sheet: Entry
  texts?: Entry
  styles?: Entry
  /** Dates count from 1904, as on old Macs. */
  date1904: boolean
}

/** The rows of one sheet, parsed as they are asked for. */
export async function* sheetRows(
  zip: CheckedZip,
  sheet: string | number | undefined,
): AsyncGenerator<StreamRow, void, void> {
  const parts = packed(zip, await findWorkbook(zip, sheet))
  const demand = new Demand()
  const bytes = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await demand.more()
        const next = await parts.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
    },
    { highWaterMark: 0 },
  )
  const rows = streamXlsxRows(bytes)
  try {
    for (;;) {
      demand.ask()
      const next = await rows.next()
      demand.got()
      if (next.done) return
      yield next.value
    }
  } finally {
    await rows.return(undefined)
    await parts.return()
  }
}

/**
 * A gate for bytes: it opens when somebody waits for a row and none is parsed already. Those that are come before the
 * timer does; there is one timer for all of them, for one a row took a third of the time.
 */
class Demand {
  #waiting = false
  #timer = false
  #open: (() => void) | undefined

  ask(): void {
    this.#waiting = true
    this.#look()
  }

  got(): void {
    this.#waiting = false
  }

  /** Resolves when more bytes are wanted. */
  more(): Promise<void> {
    return new Promise((resolve) => {
      this.#open = resolve
      this.#look()
    })
  }

  #look(): void {
    if (!this.#waiting || !this.#open || this.#timer) return
    this.#timer = true
    setImmediate(() => {
      this.#timer = false
      if (!this.#waiting) return
      this.#open?.()
      this.#open = undefined
    })
  }
}

async function findWorkbook(zip: CheckedZip, wanted: string | number | undefined): Promise<Workbook> {
  const root = await relationships(zip, '')
  const path = root.find((relationship) => relationship.type === 'officeDocument')?.path
  const main = path === undefined ? undefined : zip.entries.get(path.toLowerCase())
  if (path === undefined || main === undefined || !path.endsWith('.xml')) {
    throw new HighkiqError('INVALID_FILE', 'the file is a zip archive, but not an .xlsx workbook: save it as .xlsx')
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
    const names = sheets.map((sheet) => JSON.stringify(sheet.name)).join(', ') || 'none'
    const which = wanted === undefined ? 'a sheet' : `the sheet ${JSON.stringify(wanted)}`
    throw new HighkiqError('INVALID_FILE', `the workbook does not have ${which}: its sheets are ${names}`)
  }
  const partOf = (type: string) => {
    const target = related.find((relationship) => relationship.type === type)
    return target && zip.entries.get(target.path.toLowerCase())
  }
  return {
    sheet: found.entry,
    texts: partOf('sharedStrings'),
    styles: partOf('styles'),
    date1904: date1904 === '1' || date1904 === 'true',
  }
}

/** What a part refers to; `type` is the last word of the type, which is the same in all dialects. */
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
  return new TextDecoder().decode(await whole(zip, entry))
}

async function whole(zip: CheckedZip, entry: Entry, maxBytes = MAX_PART_BYTES): Promise<Buffer> {
  if (entry.uncompressedSize > maxBytes) throw tooLarge(entry)
  const chunks: Buffer[] = []
  for await (const chunk of zip.content(entry)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

// hucre makes one string of the table of texts, and V8 has none longer than this.
const MAX_TEXTS_BYTES = 500 * 1024 ** 2

// What hucre needs for it: it builds a tree of objects, measured at 2 million texts. Running out of memory would end
// the process and every other job in it.
const HEAP_PER_TAG = 200
const HEAP_PER_BYTE = 2

/** The table of texts, if there is memory enough to read it. */
async function tableOfTexts(zip: CheckedZip, entry: Entry): Promise<Buffer> {
  const xml = await whole(zip, entry, MAX_TEXTS_BYTES)
  let tags = 0
  for (const byte of xml) if (byte === 0x3c) tags++
  const heap = getHeapStatistics()
  const needed = tags * HEAP_PER_TAG + xml.length * HEAP_PER_BYTE
  if (needed > heap.heap_size_limit - heap.used_heap_size) throw tooLarge(entry)
  return xml
}

function tooLarge(entry: Entry): HighkiqError {
  const size = `${Math.ceil(entry.uncompressedSize / 1024 ** 2)} MB`
  const message =
    `the workbook has ${size} of ${entry.fileName}, more than fits into memory: ` +
    'save it as CSV, split it, or start Node with a larger --max-old-space-size'
  return new HighkiqError('INVALID_FILE', message, { entry: entry.fileName })
}

// hucre asks for a stored part in pieces of this size; giving it others costs it a copy each.
const PIECE_BYTES = 1024 ** 2

const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'

/** A workbook of one sheet as the bytes of a zip archive without compression. It ends with the sheet: no contents. */
async function* packed(
  zip: CheckedZip,
  { sheet, texts, styles, date1904 }: Workbook,
): AsyncGenerator<Uint8Array, void, void> {
  yield* storedPart('[Content_Types].xml', Buffer.from(`<Types xmlns="${PACKAGE}/content-types"/>`))
  yield* storedPart('_rels/.rels', related(['officeDocument', 'xl/workbook.xml']))
  const workbook =
    `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr date1904="${date1904 ? 1 : 0}"/>` +
    '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>'
  yield* storedPart('xl/workbook.xml', Buffer.from(workbook))
  const parts: [string, string][] = [['worksheet', 'worksheets/sheet1.xml']]
  if (texts) {
    parts.push(['sharedStrings', 'sharedStrings.xml'])
    yield* storedPart('xl/sharedStrings.xml', await tableOfTexts(zip, texts))
  }
  if (styles) {
    parts.push(['styles', 'styles.xml'])
    yield* storedPart('xl/styles.xml', await whole(zip, styles))
  }
  yield* storedPart('xl/_rels/workbook.xml.rels', related(...parts))
  yield localHeader('xl/worksheets/sheet1.xml', sheet.uncompressedSize)
  yield* pieces(zip.content(sheet))
}

function related(...parts: [type: string, target: string][]): Buffer {
  const list = parts.map(
    ([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  )
  return Buffer.from(`<Relationships xmlns="${PACKAGE}/relationships">${list.join('')}</Relationships>`)
}

function* storedPart(name: string, content: Buffer): Generator<Buffer, void, void> {
  yield localHeader(name, content.length)
  if (content.length > 0) yield content
}

/** What stands before a stored, not compressed, part in a zip archive. */
function localHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(30 + name.length)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(20, 4)
  header.writeUInt32LE(size, 18)
  header.writeUInt32LE(size, 22)
  header.writeUInt16LE(name.length, 26)
  header.write(name, 30, 'latin1')
  return header
}

/** The same bytes in pieces of PIECE_BYTES. */
async function* pieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let collected: Buffer[] = []
  let length = 0
  for await (let chunk of chunks) {
    while (length + chunk.length >= PIECE_BYTES) {
      const fits = PIECE_BYTES - length
      yield Buffer.concat([...collected, chunk.subarray(0, fits)])
      chunk = chunk.subarray(fits)
      collected = []
      length = 0
    }
    collected.push(chunk)
    length += chunk.length
  }
  if (length > 0) yield Buffer.concat(collected)
}
