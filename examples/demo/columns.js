/** Finds the columns of a file of products by their names. */

/** Names of each field's column, in small letters without spaces and punctuation. The generated workbook has the first. */
const HEADERS = {
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

/** The columns of a list of products, for a message. */
export const EXPECTED = 'SKU, Name and Price (also Category, Currency, Stock, Available from, EAN, Description)'

/** Returns the column of each field, or the required fields that are missing. */
export function findColumns(header) {
  const columns = {}
  const plain = header.map((name) =>
    name
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, ''),
  )
  for (const [field, names] of Object.entries(HEADERS)) {
    const found = names.map((name) => plain.indexOf(name)).find((index) => index >= 0)
    if (found !== undefined) columns[field] = header[found]
  }
  const { sku, name, price } = columns
  if (sku !== undefined && name !== undefined && price !== undefined)
    return { columns: { ...columns, sku, name, price } }
  const missing = Object.entries({ SKU: sku, Name: name, Price: price }).filter(([, column]) => column === undefined)
  return { missing: missing.map(([column]) => column) }
}
