/** Workbooks out of the XML of their sheet, for unit tests. */

import type { TableRow } from '../src/tasks/spreadsheet/table.ts'
import { sheetRows } from '../src/tasks/spreadsheet/workbook.ts'
import { openZip } from '../src/tasks/spreadsheet/zip-check.ts'
import { zipOf } from './zip.ts'

/** Returns the rows of a workbook. */
export async function read(bytes: Uint8Array): Promise<TableRow[]> {
  const zip = await openZip(bytes)
  const rows: TableRow[] = []
  for await (const batch of sheetRows(zip, undefined)) rows.push(...batch)
  zip.close()
  return rows
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
// The styles, by number: plain, a date, a date and time, a time, an amount in rupees, elapsed time.
const STYLES = `<styleSheet xmlns="${MAIN}"><numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd&quot;d&quot;"/>
<numFmt numFmtId='165' formatCode='[$Rs. -4009]#,##0.00'/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="22"><alignment/></xf><xf numFmtId="21"/><xf numFmtId="165"/><xf numFmtId="46"/></cellXfs></styleSheet>`

/** The bytes of a workbook with this XML as its sheet. `others` replaces parts by their names. */
export function workbookOf(
  sheet: string | Buffer,
  {
    texts = '<sst/>',
    date1904 = false,
    others = {},
  }: { texts?: string | Buffer; date1904?: boolean; others?: Record<string, string> } = {},
): Buffer {
  const relationship = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`
  const related = (list: string) => `<Relationships xmlns="${PACKAGE}/relationships">${list}</Relationships>`
  const parts = {
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"/>`,
    '_rels/.rels': related(relationship('rId1', 'officeDocument', 'xl/workbook.xml')),
    'xl/workbook.xml':
      `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><workbookPr date1904="${date1904 ? 1 : 0}"/>` +
      '<sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': related(
      relationship('rId1', 'worksheet', 'worksheets/sheet1.xml') +
        relationship('rId2', 'sharedStrings', 'sharedStrings.xml') +
        relationship('rId3', 'styles', 'styles.xml'),
    ),
    'xl/sharedStrings.xml': texts,
    'xl/styles.xml': STYLES,
    'xl/worksheets/sheet1.xml': sheet,
    ...others,
  }
  return zipOf(...Object.entries(parts).map(([name, content]) => ({ name, content })))
}

export const sheetXml = (rows: string) => `<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`
/** Returns the values of one row with these cells. */
export const valuesOf = async (cells: string) =>
  (await read(workbookOf(sheetXml(`<row r="1">${cells}</row>`))))[0]?.values
