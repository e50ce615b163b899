/** What the demo says. */

import { count, duration, plural, rate } from '../figures.ts'
import { EXPECTED } from './columns.ts'
import type { Outcome, Rejected } from './outcome.ts'
import type { Reason } from './product.ts'
import { type Paint, padEnd, padStart, painter, shorten, widthOf } from './terminal.ts'

/** Where nobody says how wide the terminal is. */
const WIDTH = 100
const WIDEST_SKU = 20

const WORDS: Record<Reason, string> = {
  missing_sku: 'the SKU is empty',
  duplicate_sku: 'another row has the SKU',
  missing_name: 'the name is empty',
  name_too_long: 'the name is too long',
  unknown_category: 'the category is unknown',
  missing_price: 'the price is empty',
  bad_price: 'the price is not a number',
  price_out_of_range: 'the price is 0, below 0 or too high',
  bad_currency: 'the currency is not a code such as EUR',
  bad_stock: 'the stock is not a whole number',
  bad_date: 'the date is not in the calendar, or not a date',
  bad_ean: 'the EAN is wrong',
  formula_error: 'a formula has no result',
  blank_row: 'the row is blank',
}

export class Screen {
  readonly #out: NodeJS.WriteStream
  readonly #paint: Paint

  constructor(out: NodeJS.WriteStream) {
    this.#out = out
    this.#paint = painter(out)
  }

  title(text: string, ...lines: string[]): void {
    this.#say('', `  ${this.#paint('bold', text)}`, ...lines.map((line) => `  ${line}`), '')
  }

  done(text: string, about = ''): void {
    this.#say(`  ${this.#paint('green', '✓')} ${text}${about && this.#paint('dim', `  ${about}`)}`)
  }

  blank(): void {
    this.#say('')
  }

  /** Why a file is imported in the plain way. */
  plainImport(missing: readonly string[]): void {
    this.#say(
      `  ${this.#paint('yellow', '!')} No column for ${missing.join(' or ')}: this is not a list of products, so each row`,
      '    is kept as it is, and refused only if it is blank or a formula in it has no result.',
      `    A list of products has the columns ${EXPECTED}.`,
    )
  }

  outcome({ status, reasons, first, rejected, noun }: Outcome): void {
    const { finished, error } = status.counts
    const ended = finished + rejected
    const parts = [this.#paint('green', `${count(finished)} imported`)]
    if (rejected > 0) parts.push(this.#paint('yellow', `${count(rejected)} rejected`))
    if (error > 0) parts.push(this.#paint('red', `${count(error)} of them broke`))
    const seconds = ((status.finishedAt ?? new Date()).getTime() - status.runAt.getTime()) / 1000
    const pace = this.#paint('dim', ` in ${duration(seconds)}, ${rate(status.ratePerSecond)}`)
    this.#say('', `  ${this.#paint('bold', plural(ended, noun))}: ${parts.join(', ')}${pace}`)
    if (rejected === 0) return
    this.#say('', `  ${this.#paint('bold', 'Why')}`)
    const digits = Math.max(...reasons.map(([, n]) => count(n).length))
    const longest = Math.max(...reasons.map(([code]) => widthOf(code)))
    for (const [code, n] of reasons) {
      const words = WORDS[code as Reason] ?? ''
      this.#say(`  ${padStart(count(n), digits)}  ${padEnd(code, longest)}  ${this.#paint('dim', words)}`.trimEnd())
    }
    const some =
      first.length < rejected ? `The first ${first.length} of ${plural(rejected, 'rejected row')}` : 'Rejected'
    this.#say('', `  ${this.#paint('bold', some)}`)
    this.#table(first)
  }

  places(places: [name: string, path: string, about: string][]): void {
    const name = Math.max(...places.map(([one]) => one.length))
    const path = Math.max(...places.map(([, one]) => widthOf(one)))
    this.#say('')
    for (const [one, where, about] of places) {
      const line = `  ${padEnd(one, name)}  ${this.#paint('cyan', padEnd(where, path))}`
      this.#say(`${line}  ${this.#paint('dim', about)}`)
    }
  }

  next(steps: [purpose: string, command: string][]): void {
    const width = Math.max(...steps.map(([purpose]) => purpose.length))
    this.#say('', `  ${this.#paint('bold', 'What to try next')}`)
    for (const [purpose, command] of steps) this.#say(`  ${padEnd(purpose, width)}  ${this.#paint('cyan', command)}`)
    this.#say('')
  }

  dashboard(url: string): void {
    this.#say(`  ${this.#paint('bold', 'The dashboard')} is open at ${this.#paint('cyan', url)}`)
    this.#say(`  ${this.#paint('dim', 'until Ctrl-C')}`, '')
  }

  stopped(text: string): void {
    this.#say('', `  ${this.#paint('yellow', text)}`)
  }

  /** Row, SKU and reason, one line each. */
  #table(rows: readonly Rejected[]): void {
    const named = rows.some(({ sku }) => sku !== undefined)
    const lines = [{ row: 'Row', sku: 'SKU', reason: 'Reason' }].concat(
      rows.map(({ row, sku, reason }) => ({ row: String(row ?? ''), sku: shorten(sku || '–', WIDEST_SKU), reason })),
    )
    const row = Math.max(...lines.map((line) => widthOf(line.row)))
    const sku = named ? Math.max(...lines.map((line) => widthOf(line.sku))) + 2 : 0
    const left = Math.max(20, (this.#out.columns || WIDTH) - row - sku - 5)
    for (const [i, line] of lines.entries()) {
      const text = `  ${padStart(line.row, row)}  ${named ? padEnd(line.sku, sku) : ''}${shorten(line.reason, left)}`
      this.#say(i === 0 ? this.#paint('dim', text) : text)
    }
  }

  #say(...lines: string[]): void {
    this.#out.write(lines.map((line) => `${line}\n`).join(''))
  }
}
