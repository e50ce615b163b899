/** Which column of a file is what, by its header. */

export type Field =
  | 'sku'
  | 'name'
  | 'category'
  | 'price'
  | 'currency'
  | 'stock'
  | 'availableFrom'
  | 'ean'
  | 'description'

/** The header of each field that the file has. */
export type Columns = Partial<Record<Field, string>> & Record<'sku' | 'name' | 'price', string>

/** Without spaces, punctuation and capitals. The first is how the demo itself calls it. */
const HEADERS: Record<Field, readonly string[]> = {
  sku: ['sku', 'articlenumber', 'artikelnummer', 'itemnumber', 'productcode', 'productid', 'item', 'code', 'id'],
  name: ['name', 'productname', 'product', 'title', 'bezeichnung', '商品名', '品名'],
  category: ['category', 'kategorie', 'productcategory', 'group', 'type'],
  price: ['price', 'unitprice', 'preis', 'retailprice', 'amount', '価格', '价格'],
  currency: ['currency', 'waehrung', 'währung', 'currencycode'],
  stock: ['stock', 'quantity', 'qty', 'instock', 'bestand', 'inventory'],
  availableFrom: ['availablefrom', 'available', 'verfügbarab', 'releasedate', 'launchdate'],
  ean: ['ean', 'ean13', 'gtin', 'barcode', 'upc'],
  description: ['description', 'beschreibung', 'details', 'text'],
}

/** How the columns are called in a message. */
export const EXPECTED = 'SKU, Name and Price (also Category, Currency, Stock, Available from, EAN, Description)'

/** The columns of a file of products, or the names of those without which it is none. */
export function findColumns(header: readonly string[]): { columns: Columns } | { missing: string[] } {
  const columns: Partial<Record<Field, string>> = {}
  const plain = header.map((name) =>
    name
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, ''),
  )
  for (const [field, names] of Object.entries(HEADERS) as [Field, readonly string[]][]) {
    const found = names.map((name) => plain.indexOf(name)).find((index) => index >= 0)
    if (found !== undefined) columns[field] = header[found] as string
  }
  const { sku, name, price } = columns
  if (sku !== undefined && name !== undefined && price !== undefined)
    return { columns: { ...columns, sku, name, price } }
  const missing = Object.entries({ SKU: sku, Name: name, Price: price }).filter(([, column]) => column === undefined)
  return { missing: missing.map(([column]) => column) }
}
