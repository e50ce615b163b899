// The stream of changes: each product has so many versions, and each producer knows of some of them.
export const PRODUCTS = Number(process.env.EXAMPLE_PRODUCTS ?? 50)
export const VERSIONS = 20
export const PRODUCERS = 4

export const idOf = (n) => `product-${String(n).padStart(4, '0')}`
export const priceOf = (n, version) => 100 + n + version / 100

/** What one producer pushes, in an order of its own: newer versions may well come before older ones. */
export function changesOf(producer) {
  const changes = []
  for (let n = 0; n < PRODUCTS; n++) {
    for (let version = 1; version <= VERSIONS; version++) {
      if ((n + version) % PRODUCERS === producer) changes.push({ id: idOf(n), version, price: priceOf(n, version) })
    }
  }
  return changes.sort(() => Math.random() - 0.5)
}

/** Products of which the copy has not the last version. */
export function stale(rows) {
  const versions = new Map(rows.map(({ id, version }) => [id, version]))
  return Array.from({ length: PRODUCTS }, (_, n) => idOf(n))
    .filter((id) => versions.get(id) !== VERSIONS)
    .map((id) => ({ id, version: versions.get(id) ?? 0 }))
}
