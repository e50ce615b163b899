/**
 * Generates the demo's workbook, the same at each run: products of a shop that sells in many languages. Most are right,
 * some are untidy, and about 2% are broken as in real spreadsheets.
 */

import { checkDigit } from './product.js'

export const HEADER = ['SKU', 'Name', 'Category', 'Price', 'Currency', 'Stock', 'Available from', 'EAN', 'Description']
export const CATEGORIES = ['Kitchen', 'Garden', 'Electronics', 'Books', 'Toys', 'Clothing', 'Sports', 'Office']

const SEED = 89
const BROKEN_SHARE = 0.02
const UNTIDY_SHARE = 0.06
const FIRST_DAY = Date.UTC(2025, 0, 1)
const DAY_MS = 86_400_000

// biome-ignore format: a list by category is easier to read
const NAMES = {
  Kitchen: ['Chef’s knife, 8"', 'Schneidebrett aus Eiche', 'Théière émaillée', '南部鉄器の急須', '不锈钢炒锅', '김치 보관 용기', 'طقم أكواب القهوة', 'סט סכיני מטבח', 'Турка медная', '☕ Espresso cups, set of 4'],
  Garden: ['Watering can, 10 l', 'Gartenschere', 'Sécateur "Provence"', '剪定ばさみ', '园艺手套', 'خرطوم الحديقة', 'כלי גינון', 'Садовый гном', '🌻 Sunflower seeds', 'Regadera de zinc'],
  Electronics: ['Monitor 27", 4K', 'Kopfhörer mit Geräuschunterdrückung', 'Écouteurs sans fil', 'ワイヤレスマウス', '蓝牙音箱', '휴대용 충전기', 'شاحن سريع', 'מקלדת אלחוטית', 'Внешний диск, 2 ТБ', 'Καλώδιο USB-C'],
  Books: ['Rock, paper, SQL', 'Die Verwandlung', 'L’Étranger', '吾輩は猫である', '红楼梦', '한중록', 'ألف ليلة وليلة', 'סיפור על אהבה וחושך', 'Мастер и Маргарита', 'Don Quijote de la Mancha'],
  Toys: ['Yo-yo "Galaxy"', 'Holzeisenbahn', 'Puzzle, 1 000 pièces', 'けん玉', '魔方', '연 만들기 세트', 'مكعبات خشبية', 'סביבון', 'Матрёшка', '🦖 Dinosaur, remote-controlled'],
  Clothing: ['Men’s rain jacket', 'Wollmütze', 'Écharpe en soie', '浴衣', '旗袍', '한복', 'قفطان مطرز', 'כובע צמר', 'Валенки', 'Çorap, pamuklu'],
  Sports: ['Yoga mat', 'Fußball, Größe 5', 'Vélo pliant', '竹刀', '乒乓球拍', '태권도 도복', 'كرة قدم', 'מחצלת יוגה', 'Лыжи беговые', '🏓 Table tennis set'],
  Office: ['Stapler', 'Füllfederhalter', 'Agrafeuse', '万年筆', '文件夹', '포스트잇', 'قلم حبر', 'מחברת', 'Скрепки, 100 шт.', 'Caderno pautado'],
}
const VARIANTS = ['blue', 'red', 'green', 'small', 'large', 'XL', 'set of 2', '2026', '½ price', 'n° 7']
const DESCRIPTIONS = [
  '',
  '',
  '',
  'Dishwasher-safe.',
  'Tested: "very good"\nReview 3/2026',
  'Delivery in 2–3 days, free from €50',
  '返品可能',
]
const CURRENCIES = ['EUR', 'EUR', 'EUR', 'EUR', 'USD', 'GBP', 'CHF', 'PLN']

/** Changes that make a product untidy but not wrong. */
const UNTIDY = {
  'spaces behind': ({ sku, name }) => ({ sku: `${sku}  `, name: `${name} ` }),
  'non-breaking spaces': ({ name, category }) => ({
    name: `\u00A0${name.replaceAll(' ', '\u00A0')}`,
    category: `${category}\u00A0`,
  }),
  'SKU in small letters': ({ sku }) => ({ sku: sku.toLowerCase() }),
  'full-width digits': ({ sku, stock }, { priceCents }) => ({
    sku: fullWidth(sku),
    price: fullWidth((priceCents / 100).toFixed(2)),
    stock: fullWidth(String(stock)),
  }),
  'decimal comma': (_, { priceCents }) => ({ price: withComma(priceCents) }),
  'currency beside the price': (_, { priceCents, currency }) => ({ price: `${withComma(priceCents)} ${currency}` }),
  'category in capitals': ({ category }) => ({ category: category.toUpperCase() }),
  'currency in small letters': ({ currency }) => ({ currency: currency.toLowerCase() }),
  'date as ISO text': (_, { availableFrom }) => ({ availableFrom: availableFrom ?? '' }),
  'date with points': (_, { availableFrom }) => ({
    availableFrom: availableFrom?.split('-').reverse().join('.') ?? '',
  }),
  'spaces in the EAN': ({ ean }) => ({ ean: `${ean[0]} ${ean.slice(1, 7)} ${ean.slice(7)}` }),
  'a space without width': ({ sku, name }) => ({ sku: `\u200B${sku}`, name: `${name}\uFEFF` }),
}

/** Changes for which a product is refused, with the code and the field. `earlier` is a good row above. */
const BREAKS = {
  'a letter O in the price': { code: 'bad_price', field: 'Price', change: () => ({ price: '12,5O' }) },
  'no SKU': { code: 'missing_sku', field: 'SKU', change: () => ({ sku: ' ' }) },
  'an SKU twice': { code: 'duplicate_sku', field: 'SKU', change: (_, { sku }) => ({ sku }) },
  'a date in words': { code: 'bad_date', field: 'Available from', change: () => ({ availableFrom: 'next Tuesday' }) },
  'a typing error in the EAN': { code: 'bad_ean', field: 'EAN', change: ({ ean }) => ({ ean: mistyped(ean) }) },
  'a price of n/a': { code: 'bad_price', field: 'Price', change: () => ({ price: 'n/a' }) },
  'a price below 0': {
    code: 'price_out_of_range',
    field: 'Price',
    change: ({ price }) => ({ price: -Number(price) }),
  },
  'an SKU twice, differing in spaces and capitals': {
    code: 'duplicate_sku',
    field: 'SKU',
    change: (_, { sku }) => ({ sku: `${sku.toLowerCase()} ` }),
  },
  'a day that does not exist': {
    code: 'bad_date',
    field: 'Available from',
    change: (_cells, _earlier, chance) => ({ availableFrom: chance.pick(['31.02.2026', '2026-04-31', '29.02.2025']) }),
  },
  'stock in words': { code: 'bad_stock', field: 'Stock', change: () => ({ stock: 'many' }) },
  'a currency in words': { code: 'bad_currency', field: 'Currency', change: () => ({ currency: 'EURO' }) },
  'an unknown category': {
    code: 'unknown_category',
    field: 'Category',
    change: ({ category }) => ({ category: `${category.slice(0, -2)}${category.at(-1)}` }),
  },
  'a name that is a description': {
    code: 'name_too_long',
    field: 'Name',
    change: ({ name }) => ({ name: `${name} – ${'the best of its kind, now with free delivery! '.repeat(3)}` }),
  },
  'a price of 0': { code: 'price_out_of_range', field: 'Price', change: () => ({ price: 0 }) },
  'no price': { code: 'missing_price', field: 'Price', change: () => ({ price: '' }) },
  'an EAN that Excel took for a number': { code: 'bad_ean', field: 'EAN', change: () => ({ ean: '4.00638E+12' }) },
  'half a piece in stock': { code: 'bad_stock', field: 'Stock', change: () => ({ stock: 2.5 }) },
  'a formula without result': { code: 'formula_error', field: 'Price', change: () => ({ price: '#N/A' }) },
}

/** Returns the rows of the workbook, the products in them, and the broken and untidy rows. */
export function makeProducts(count) {
  const chance = new Chance(SEED)
  const kinds = Object.entries(BREAKS)
  const toBreak = new Set(chance.distinct(Math.round(count * BROKEN_SHARE), count))
  const made = { rows: [], products: [], broken: [], untidy: [] }
  const good = []
  for (let i = 0; i < count; i++) {
    const row = i + 2
    const product = makeProduct(i, chance)
    const cells = cellsOf(product)
    if (toBreak.has(i)) {
      // The first row can't repeat an earlier one.
      const earlier = good.length > 0 ? chance.pick(good) : { ...cells, sku: '' }
      const [kind, { code, field, change }] = kinds[made.broken.length % kinds.length]
      made.broken.push({ row, kind, code, field })
      made.rows.push({ ...cells, ...change(cells, earlier, chance) })
      continue
    }
    good.push(cells)
    made.products.push(product)
    if (chance.next() >= UNTIDY_SHARE) {
      made.rows.push(cells)
      continue
    }
    const kind = chance.pick(Object.keys(UNTIDY))
    made.untidy.push({ row, kind, sku: product.sku })
    made.rows.push({ ...cells, ...UNTIDY[kind]?.(cells, product) })
  }
  return made
}

/** Returns the cells of a row in the order of `HEADER`. */
export function cellValues(cells) {
  const { sku, name, category, price, currency, stock, availableFrom, ean, description } = cells
  return [sku, name, category, price, currency, stock, availableFrom, ean, description]
}

function makeProduct(i, chance) {
  const category = chance.pick(CATEGORIES)
  const body = `4${String(chance.whole(0, 99_999_999_999)).padStart(11, '0')}`
  return {
    sku: `${category.slice(0, 3).toUpperCase()}-${String(i + 1).padStart(5, '0')}`,
    name: `${chance.pick(NAMES[category])}, ${chance.pick(VARIANTS)}`,
    category,
    priceCents: chance.whole(99, 249_999),
    currency: chance.pick(CURRENCIES),
    stock: chance.whole(0, 2000),
    availableFrom: new Date(FIRST_DAY + chance.whole(0, 729) * DAY_MS).toISOString().slice(0, 10),
    ean: body + checkDigit(body),
    description: chance.pick(DESCRIPTIONS) || null,
  }
}

function cellsOf(product) {
  const { sku, name, category, priceCents, currency, stock, availableFrom, ean, description } = product
  return {
    sku,
    name,
    category: category ?? '',
    price: priceCents / 100,
    currency: currency ?? '',
    stock: stock ?? '',
    availableFrom: new Date(`${availableFrom}T00:00:00Z`),
    ean: ean ?? '',
    description: description ?? '',
  }
}

function fullWidth(text) {
  return text.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0))
}

/** `1234.5` → `1.234,50`. */
function withComma(cents) {
  return (cents / 100).toLocaleString('de', { minimumFractionDigits: 2 })
}

function mistyped(ean) {
  return ean.slice(0, -1) + ((Number(ean.at(-1)) + 1) % 10)
}

/** Random numbers that are the same at each run (mulberry32). */
class Chance {
  #state

  constructor(seed) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0, below 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns an integer from `from` to `to`. */
  whole(from, to) {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  pick(from) {
    return from[Math.floor(this.next() * from.length)]
  }

  /** Returns `count` different integers from 0, below `below`, in ascending order. */
  distinct(count, below) {
    const drawn = new Set()
    while (drawn.size < Math.min(count, below)) drawn.add(this.whole(0, below - 1))
    return [...drawn].sort((a, b) => a - b)
  }
}
