import { basename, extname } from 'node:path'
import { type HighkiqError, invalidFile, invalidOption } from '../../job/errors.ts'
import type { OpenSource } from './source.ts'

/** Every format that files are read and written in. */
export const FILE_FORMATS = ['csv', 'xlsx', 'ndjson'] as const
export type FileFormat = (typeof FILE_FORMATS)[number]

const ENDINGS = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.tab': 'csv',
  '.txt': 'csv',
  '.xlsx': 'xlsx',
  '.xlsm': 'xlsx',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.json': 'ndjson',
} as const

type Ending = keyof typeof ENDINGS

/** The format that a path with a known ending says; `never` for others. */
export type FormatOf<Path> = { [E in Ending]: Path extends `${string}${E}` ? (typeof ENDINGS)[E] : never }[Ending]

const NAMES: Record<FileFormat, string> = { csv: 'CSV', xlsx: 'XLSX', ndjson: 'NDJSON' }

export const formatByEnding = (path: string): FileFormat | undefined => ENDINGS[extname(path).toLowerCase() as Ending]

/**
 * Returns the format that the first bytes show.
 * @throws INVALID_FILE if they can't be a table
 */
function formatByContent(head: Uint8Array): FileFormat {
  if (head.length === 0) {
    throw invalidFile('the file is empty: it needs a header row with the names of the columns', { problem: 'empty' })
  }
  const magic = Buffer.from(head.subarray(0, 4)).toString('hex')
  const bytes = Buffer.from(head).toString('latin1')
  if (isLockFile(head)) throw lockFile()
  if (magic === 'd0cf11e0') {
    const message =
      'the file is a password-protected workbook or one of the old .xls kind: open it in Excel and save it as .xlsx without a password'
    throw invalidFile(message, { problem: 'old-workbook' })
  }
  for (const [start, kind, problem] of OTHERS) {
    if (!magic.startsWith(start)) continue
    throw invalidFile(`the file is ${kind}, not a table: save it as CSV, XLSX or NDJSON`, { problem })
  }
  if (bytes.startsWith('mimetypeapplication/vnd.oasis.opendocument', 30)) {
    throw invalidFile('the file is an OpenDocument table (.ods): open it and save it as .xlsx or CSV', {
      problem: 'open-document',
    })
  }
  // The second is the magic number of a zip archive with nothing in it.
  if (magic === '504b0304' || magic === '504b0506') return 'xlsx'
  const start = bytes.replaceAll('\0', '').replace(/^[\u00ef\u00bb\u00bf\u00fe\u00ff]+/, '')
  const markup = MARKUP.exec(start)
  if (markup) {
    const kind = markup[1] === '?xml' ? 'XML (such as an "XML Spreadsheet")' : 'a web page (HTML)'
    const message = `the file is ${kind}, which some programs save as .xls: open it in Excel and save it as .xlsx`
    throw invalidFile(message, { problem: 'markup' })
  }
  return /^\s*(?:\[\s*)?\{\s*["}]/.test(start) ? 'ndjson' : 'csv'
}

const MARKUP = /^\s*<(\?xml|!doctype|html|head|body|meta|table|style|div)\b/i

/** Matches the lock file of an open workbook: Excel writes the length of its user's name, that name, and both again. */
function isLockFile(head: Uint8Array): boolean {
  const length = head[0] as number
  if (length === 0 || length > 54 || head[55] !== length || head[56] !== 0) return false
  return head.subarray(1 + length, 55).every((byte) => byte === 0x20 || byte === 0)
}

function lockFile(): HighkiqError {
  const message = 'the file is the lock that Excel keeps beside an open workbook (~$…): take the workbook itself'
  return invalidFile(message, { problem: 'lock-file' })
}

const OTHERS: [start: string, kind: string, problem: string][] = [
  ['25504446', 'a PDF', 'pdf'],
  ['1f8b', 'packed with gzip', 'gzip'],
  ['89504e47', 'a picture', 'picture'],
  ['ffd8ff', 'a picture', 'picture'],
]

/** @throws INVALID_OPTION */
export function checkFormat(format: FileFormat): void {
  if (FILE_FORMATS.includes(format)) return
  throw invalidOption(`format must be one of ${FILE_FORMATS.join(', ')} (got ${JSON.stringify(format)})`)
}

/** Returns the format of a file after checking that its first bytes agree with the option or the ending. */
export function checkedFormat({ head, path }: OpenSource, given: FileFormat | undefined): FileFormat {
  if (given !== undefined) checkFormat(given)
  if (path !== undefined && basename(path).startsWith('~$')) throw lockFile()
  const stated = given ?? (path === undefined ? undefined : formatByEnding(path))
  const is = formatByContent(head)
  if (stated === undefined || stated === is) return is
  // The reader reports JSON over several lines, or text that is not JSON, with its line.
  if (stated === 'ndjson' && is === 'csv') return stated
  const hint = 'the option format'
  const how = `${given === undefined ? 'its ending' : hint} says`
  const what = {
    csv: 'is not a workbook, probably text: rename it to .csv, or save it as .xlsx',
    xlsx: 'is a zip archive, probably an Excel workbook: rename it to .xlsx, or save it as CSV',
    ndjson: 'has a JSON object at its beginning: rename it to .ndjson, or to .json when it is a list',
  }[is]
  throw invalidFile(`${how} ${NAMES[stated]}, but the file ${what}`, {
    ...{ problem: `is-${is}`, stated: NAMES[stated] },
    ...(given === undefined ? {} : { option: 'format', value: given, hint }),
  })
}
