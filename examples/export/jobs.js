// The app and its job: the rows of one page.
import { Highkiq } from 'highkiq'
import { salesBetween } from './table.js'

export const hq = new Highkiq()

export const ExportSales = hq.job('ExportSales', { retry: 3 }, async (_ctx, from, to) => salesBetween(from, to))

const PAGE = 5000

/** By key, not by offset: a page is the same whenever it is read, and as fast at the end as at the beginning. */
export function* pages(rows) {
  for (let from = 1; from <= rows; from += PAGE) yield [from, Math.min(from + PAGE - 1, rows)]
}
