/** The jobs of the demo. */

import { readProduct, refuse, refuseBrokenFormulas } from './product.js'

/** A failed job may work a moment later. */
const RETRIES = { retry: 2, retryIn: () => 1 }

/** Cleans and checks a row, and adds it to the catalogue as a product. */
export function defineImportProduct(hq, queue, catalogue, columns, rules) {
  return hq.job('ImportProduct', { ...RETRIES, queue }, async (ctx, row) => {
    const product = readProduct(row, columns, rules)
    const owner = catalogue.add(product, ctx.jid)
    if (owner.jid === ctx.jid) return
    const first = await hq.tasks.event(owner.jid)
    const where = first?.number ? `row ${first.number}` : 'another row'
    refuse('duplicate_sku', columns.sku, `"${product.sku}" is taken by ${where}, "${owner.name}"`)
  })
}

/** Keeps each row of any other file as it is; refuses blank rows and broken formulas. */
export function defineImportRow(hq, queue, catalogue) {
  return hq.job('ImportRow', { ...RETRIES, queue }, async (ctx, row) => {
    if (Object.values(row).every((value) => String(value).trim() === '')) refuse('blank_row', undefined, 'only spaces')
    refuseBrokenFormulas(row, Object.keys(row))
    catalogue.addRow(row, ctx.jid)
  })
}
