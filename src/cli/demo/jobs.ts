/** The jobs of the demo, as an application would write them. */

import type { Highkiq, Job } from '../../index.ts'
import type { Catalogue } from './catalogue.ts'
import type { Columns } from './columns.ts'
import { type Rules, readProduct, refuse, refuseBrokenFormulas } from './product.ts'

export type SheetRow = Record<string, unknown>

/** What broke may work a moment later; a demo does not wait for long. */
const RETRIES = { retry: 2, retryIn: () => 1 }

/** Cleans and checks a row, and writes it to the catalogue as a product. */
export function defineImportProduct(
  hq: Highkiq,
  catalogue: Catalogue,
  columns: Columns,
  rules: Rules,
): Job<[SheetRow]> {
  return hq.job('ImportProduct', RETRIES, async (ctx, row: SheetRow) => {
    const product = readProduct(row, columns, rules)
    const owner = catalogue.add(product, ctx.jid)
    if (owner.jid === ctx.jid) return
    const first = await hq.tasks.event(owner.jid)
    const where = first?.number ? `row ${first.number}` : 'another row'
    refuse('duplicate_sku', columns.sku, `"${product.sku}" is taken by ${where}, "${owner.name}"`)
  })
}

/** For files that are not about products: keeps each row as it is, if there is something in it. */
export function defineImportRow(hq: Highkiq, catalogue: Catalogue): Job<[SheetRow]> {
  return hq.job('ImportRow', RETRIES, async (ctx, row: SheetRow) => {
    if (Object.values(row).every((value) => String(value).trim() === '')) refuse('blank_row', undefined, 'only spaces')
    refuseBrokenFormulas(row, Object.keys(row))
    catalogue.addRow(row, ctx.jid)
  })
}
