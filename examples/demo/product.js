/** Reads a product from a row as people write it: cleans what is untidy, and refuses what is wrong. */

import { BusinessFailure } from 'highkiq'

const LONGEST_NAME = 120
const HIGHEST_PRICE = 1_000_000
const FORMULA_ERROR = /^#(N\/A|REF!|VALUE!|DIV\/0!|NAME\?|NUM!|NULL!|SPILL!|CALC!)$/i
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'))
const CURRENCY_NAMES = {
  '€': 'EUR',
  EURO: 'EUR',
  EUROS: 'EUR',
  $: 'USD',
  DOLLAR: 'USD',
  DOLLARS: 'USD',
  '£': 'GBP',
  POUND: 'GBP',
  POUNDS: 'GBP',
  '¥': 'JPY',
  YEN: 'JPY',
}

/** Returns the row as a product. @throws BusinessFailure with a code, for the first cell that is wrong */
export function readProduct(row, columns, rules = {}) {
  refuseBrokenFormulas(row, Object.values(columns))
  const cell = (column) => (column === undefined ? '' : row[column])
  return {
    sku: readSku(cell(columns.sku), columns.sku),
    name: readName(cell(columns.name), columns.name),
    category: readCategory(cell(columns.category), columns.category, rules.categories),
    priceCents: readPrice(cell(columns.price), columns.price),
    currency: readCurrency(cell(columns.currency), columns.currency),
    stock: readStock(cell(columns.stock), columns.stock),
    availableFrom: readDate(cell(columns.availableFrom), columns.availableFrom),
    ean: readEan(cell(columns.ean), columns.ean),
    description: String(cell(columns.description)).trim() || null,
  }
}

/** A spreadsheet shows #N/A, #REF! and the like where a formula has no result. */
export function refuseBrokenFormulas(row, columns) {
  for (const column of columns) {
    const text = asText(row[column])
    if (FORMULA_ERROR.test(text)) refuse('formula_error', column, `the formula in this cell shows ${text}: repair it`)
  }
}

/** Returns the SKU of a row, cleaned; '' when it has none. */
export function skuOf(row, { sku }) {
  return asCode(row[sku])
}

/** Returns a cell for a message: a text in quotes, cut if it is long. */
export function quote(value) {
  if (typeof value === 'number') return String(value)
  const text = String(value)
  const characters = [...text]
  return `"${characters.length > 40 ? `${characters.slice(0, 39).join('')}…` : text}"`
}

export function refuse(code, field, message) {
  throw new BusinessFailure(message, field === undefined ? { code } : { code, field })
}

/** Returns a text in which spaces of every kind are one plain space. */
function asText(value) {
  return String(value ?? '')
    .normalize('NFC')
    .replace(/[\s\u200B]+/gu, ' ')
    .trim()
}

/** Returns a text with plain digits and letters, and without invisible characters: for codes and numbers. */
function asPlain(value) {
  return asText(String(value ?? '').normalize('NFKC')).replace(/\p{Cf}/gu, '')
}

const asCode = (value) => asPlain(value).toUpperCase()

function readSku(value, column) {
  return asCode(value) || refuse('missing_sku', column, 'missing – every product needs one')
}

function readName(value, column) {
  const name = asText(value)
  if (name === '') refuse('missing_name', column, 'missing – every product needs one')
  const { length } = [...name]
  if (length <= LONGEST_NAME) return name
  return refuse('name_too_long', column, `${quote(name)} has ${length} characters: ${LONGEST_NAME} fit`)
}

function readCategory(value, column = '', known) {
  const category = asText(value)
  if (category === '') return null
  if (!known) return category
  const found = known.find((one) => one.toLowerCase() === category.toLowerCase())
  return found ?? refuse('unknown_category', column, `${quote(category)} is unknown: there are ${known.join(', ')}`)
}

function readPrice(value, column) {
  const price = typeof value === 'number' ? value : priceOf(asPlain(value), column)
  if (price <= 0) refuse('price_out_of_range', column, `${quote(value)} is not above 0`)
  if (price > HIGHEST_PRICE) refuse('price_out_of_range', column, `${quote(value)} is above ${HIGHEST_PRICE}`)
  return Math.round(price * 100)
}

function priceOf(text, column) {
  if (text === '') refuse('missing_price', column, 'missing – write a number')
  const bare = text.replace(/^(\p{Sc}|[A-Z]{3})\s*|\s*(\p{Sc}|[A-Z]{3})$/gu, '')
  const price = decimalOf(bare)
  if (price !== undefined) return price
  if (/^\d{1,3}[.,]\d{3}$/.test(bare)) {
    const plain = bare.replace(/\D/g, '')
    refuse('bad_price', column, `${quote(text)} could be ${plain} or ${bare.replace(',', '.')}: write ${plain}.00`)
  }
  const letter = /[OoIl]/.exec(bare)?.[0]
  const corrected = bare.replace(/[Oo]/g, '0').replace(/[Il]/g, '1')
  const hint = letter && decimalOf(corrected) !== undefined ? `: it has a letter ${letter} in it` : ''
  return refuse('bad_price', column, `${quote(text)} is not a number${hint}`)
}

/** `12.50`, `12,50`, `1.234,50`, `1,234.50`, `1'234.50`, `1 234,50`; not `1.234`, which can be read in two ways. */
function decimalOf(text) {
  if (/^-?\d+([.,]\d{1,2})?$/.test(text) || /^-?0[.,]\d+$/.test(text)) return Number(text.replace(',', '.'))
  const grouped = /^(-?\d{1,3})(([.,' \u2019])\d{3}(?:\3\d{3})*)(?:([.,])(\d{1,2}))?$/.exec(text)
  if (!grouped) return undefined
  const [, first = '', groups = '', separator = '', point, decimals = '0'] = grouped
  if (point === separator) return undefined
  if (point === undefined && /[.,]/.test(separator) && groups.length === 4) return undefined
  return Number(`${first}${groups.replace(/\D/g, '')}.${decimals}`)
}

function readCurrency(value, column = '') {
  const currency = asCode(value)
  if (currency === '') return null
  if (CURRENCIES.has(currency)) return currency
  const meant = CURRENCY_NAMES[currency]
  const hint = meant ? `write ${meant}` : 'write one of three letters, such as EUR'
  return refuse('bad_currency', column, `${quote(value)} is not a currency code: ${hint}`)
}

function readStock(value, column = '') {
  const text = asPlain(value)
  if (text === '') return null
  const stock = /^-?\d+([.,]\d+)?$/.test(text) ? Number(text.replace(',', '.')) : Number.NaN
  if (Number.isNaN(stock)) refuse('bad_stock', column, `${quote(text)} is not a number`)
  if (stock < 0) refuse('bad_stock', column, `${quote(text)} is below 0`)
  if (Number.isSafeInteger(stock)) return stock
  return refuse('bad_stock', column, `${quote(text)} is not a whole number`)
}

/** `2026-03-01`, also with a time, `01.03.2026`, and `03/01/2026` where only one reading is possible. */
function readDate(value, column = '') {
  const text = asPlain(value)
  if (text === '') return null
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ][\d:.]+Z?)?$/.exec(text)
  if (iso) return dateOf(text, column, Number(iso[1]), Number(iso[2]), Number(iso[3]))
  const german = /^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})$/.exec(text)
  if (german) return dateOf(text, column, Number(german[3]), Number(german[2]), Number(german[1]))
  const slashes = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text)
  if (!slashes) return refuse('bad_date', column, `${quote(text)} is not a date: write it like 2026-03-01`)
  const [first, second, year] = [Number(slashes[1]), Number(slashes[2]), Number(slashes[3])]
  if (first > 12) return dateOf(text, column, year, second, first)
  if (second > 12 || first === second) return dateOf(text, column, year, first, second)
  return refuse('bad_date', column, `${quote(text)} can be read in two ways: write it like 2026-03-01`)
}

function dateOf(text, column, year, month, day) {
  const date = new Date(Date.UTC(year, month - 1, day))
  const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (exists) return date.toISOString().slice(0, 10)
  return refuse('bad_date', column, `${quote(text)} is not in the calendar`)
}

function readEan(value, column = '') {
  const text = asPlain(value)
  if (text === '') return null
  if (/^\d[.,]\d+E\+?\d+$/i.test(text)) {
    refuse('bad_ean', column, `${quote(text)} was shortened by the spreadsheet: format the column as text`)
  }
  const digits = text.replace(/[ -]/g, '')
  if (!/^(\d{8}|\d{12,14})$/.test(digits)) {
    refuse('bad_ean', column, `${quote(text)} is not an EAN: that has 8, 12, 13 or 14 digits`)
  }
  const expected = checkDigit(digits.slice(0, -1))
  if (digits.endsWith(expected)) return digits
  return refuse('bad_ean', column, `${quote(text)} has a typing error: with these digits the last would be ${expected}`)
}

/** Returns the last digit of an EAN from those before it: from the right they count 3, 1, 3, 1, … times. */
export function checkDigit(digits) {
  let sum = 0
  for (let i = 0; i < digits.length; i++) sum += Number(digits.at(-1 - i)) * (i % 2 === 0 ? 3 : 1)
  return String((10 - (sum % 10)) % 10)
}
