// The app and its job: what happens to each product.
import { setTimeout as sleep } from 'node:timers/promises'
import { BusinessFailure, Highkiq } from 'highkiq'

export const hq = new Highkiq()

export const SignUpProduct = hq.job('SignUpProduct', { retry: 3 }, async (ctx, product) => {
  const { sku, name, price } = product
  if (!/^[A-Z]{2}-\d{4}$/.test(sku))
    refuse('bad_sku', 'sku', `"${sku}" is not an SKU: two letters, a dash, four digits`)
  if (name === '') refuse('no_name', 'name', 'a product needs a name')
  const cents = Math.round(Number(price) * 100)
  if (price === '' || !(cents > 0)) refuse('bad_price', 'price', `"${price}" is not a price`)
  // The register of products, which is far away and slow. It is safe to be asked twice: a job may run again.
  await sleep(20 + Math.random() * 100, undefined, { signal: ctx.signal })
  return { sku, cents }
})

// The business says no: not an error, not retried, and told to the seller.
function refuse(code, field, message) {
  throw new BusinessFailure(message, { code, field })
}
