import { BusinessFailure, Highkiq } from 'highkiq'

// Workers load this file, and so does every program that pushes jobs.
export const hq = new Highkiq({ url: process.env.HIGHKIQ_URL || '{{url}}' })

export const Welcome = hq.job('Welcome', { retry: 5 }, async (ctx, name: string) => {
  ctx.log.info({ name }, 'welcome sent')
})

// With retry: false a row that throws is rejected at once, with its reason in the report.
export const SavePrice = hq.job('SavePrice', { retry: false }, async (ctx, row: { sku: string; price: string }) => {
  const price = row.price === '' ? Number.NaN : Number(row.price)
  if (!(price >= 0)) throw new BusinessFailure(`"${row.price}" is not a price`, { code: 'price', field: 'price' })
  ctx.log.info({ sku: row.sku, price }, 'saved')
})
