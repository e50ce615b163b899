// The app and its job: what happens to each row of the workbook.
import { BusinessFailure, Highkiq } from 'highkiq'

export const hq = new Highkiq()

const CATEGORIES = ['Books', 'Garden', 'Kitchen', 'Toys']

/** SKU → product and the job that brought it. Yours is a table with a unique key. */
export const catalogue = new Map()

// The row is an object by the header of the workbook; numbers come as numbers, whatever else a cell holds as text.
export const ImportProduct = hq.job('ImportProduct', { retry: 3 }, async (ctx, row) => {
  const sku = String(row.SKU).trim()
  const price = Number(row.Price)
  if (sku === '') refuse('no_sku', 'SKU', 'is empty')
  if (row.Price === '' || !(price > 0)) refuse('bad_price', 'Price', `"${row.Price}" is not a price`)
  if (!CATEGORIES.includes(row.Category)) refuse('no_category', 'Category', `there is no "${row.Category}"`)
  const other = catalogue.get(sku)
  // The same job may come twice, after a crash: then the product is its own.
  if (other && other.jid !== ctx.jid) refuse('taken', 'SKU', `"${sku}" is "${other.name}" already`)
  catalogue.set(sku, { jid: ctx.jid, name: row.Name, price, category: row.Category })
})

function refuse(code, field, message) {
  throw new BusinessFailure(message, { code, field })
}
