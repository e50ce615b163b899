/** Prints the demo's messages. */

import { EXPECTED } from './columns.js'
import { count, duration, padEnd, padStart, painter, plural, rate, shorten, shown, widthOf } from './text.js'

/** The width where the stream is not a terminal. */
const WIDTH = 100
const WIDEST_SKU = 20

const REASONS = {
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
  #out
  #paint
  #progressAt = 0

  constructor(out) {
    this.#out = out
    this.#paint = painter(out)
  }

  title(text, ...lines) {
    this.#print('', `  ${this.#paint('bold', text)}`, ...lines.map((line) => `  ${line}`), '')
  }

  introduction(file, rows) {
    if (file !== undefined) {
      this.title(
        `Highkiq imports ${shown(file)}`,
        'One row, one job: each is checked and written to a SQLite catalogue.',
      )
      return
    }
    this.title(
      `Highkiq imports ${count(rows)} products`,
      'One row, one job: each is checked and written to a SQLite catalogue. About 2% are broken',
      'as in real spreadsheets, and some are merely untidy.',
    )
  }

  /** Rewrites one line on a terminal; elsewhere prints one line a second. The `last` one is always printed. */
  progress({ total, counts, percent, ratePerSecond, state }, last = false) {
    const { finished, failed, error, cancelled } = counts
    const share = state === 'adding' ? 'still reading' : `${Math.floor(percent)}%`
    const ended = finished + failed + error + cancelled
    const text = `  Importing: ${count(ended)} of ${count(total)} (${share}) · ${rate(ratePerSecond)} · ${count(failed)} failed`
    if (this.#out.isTTY) this.#out.write(`\r\u001B[K${text}${last ? '\n' : ''}`)
    else if (last || performance.now() - this.#progressAt >= 1000) {
      this.#progressAt = performance.now()
      this.#print(text)
    }
  }

  done(text, about = '') {
    this.#print(`  ${this.#paint('green', '✓')} ${text}${about && this.#paint('dim', `  ${about}`)}`)
  }

  /** Says why the rows of a file are kept as they are. */
  plainImport(missing) {
    this.#print(
      `  ${this.#paint('yellow', '!')} No column for ${missing.join(' or ')}: this is not a list of products, so each row`,
      '    is kept as it is, and refused only if it is blank or a formula in it has no result.',
      `    A list of products has the columns ${EXPECTED}.`,
    )
  }

  outcome({ status, reasons, first, rejected, noun }) {
    const { finished, error } = status.counts
    const ended = finished + rejected
    const parts = [this.#paint('green', `${count(finished)} imported`)]
    if (rejected > 0) parts.push(this.#paint('yellow', `${count(rejected)} rejected`))
    if (error > 0) parts.push(this.#paint('red', `${count(error)} of them broke`))
    const seconds = ((status.finishedAt ?? new Date()).getTime() - status.runAt.getTime()) / 1000
    const pace = this.#paint('dim', ` in ${duration(seconds)}, ${rate(status.ratePerSecond)}`)
    this.#print('', `  ${this.#paint('bold', plural(ended, noun))}: ${parts.join(', ')}${pace}`)
    if (rejected === 0) return
    this.#print('', `  ${this.#paint('bold', 'Why')}`)
    const digits = Math.max(...reasons.map(([, n]) => count(n).length))
    const longest = Math.max(...reasons.map(([code]) => widthOf(code)))
    for (const [code, n] of reasons) {
      const reason = REASONS[code] ?? ''
      this.#print(`  ${padStart(count(n), digits)}  ${padEnd(code, longest)}  ${this.#paint('dim', reason)}`.trimEnd())
    }
    const some =
      first.length < rejected ? `The first ${first.length} of ${plural(rejected, 'rejected row')}` : 'Rejected'
    this.#print('', `  ${this.#paint('bold', some)}`)
    this.#table(first)
  }

  files(files) {
    const name = Math.max(...files.map(([one]) => one.length))
    const path = Math.max(...files.map(([, one]) => widthOf(one)))
    this.#print('')
    for (const [one, where, about] of files) {
      const line = `  ${padEnd(one, name)}  ${this.#paint('cyan', padEnd(where, path))}`
      this.#print(`${line}  ${this.#paint('dim', about)}`)
    }
  }

  next(steps) {
    const width = Math.max(...steps.map(([purpose]) => purpose.length))
    this.#print('', `  ${this.#paint('bold', 'What to try next')}`)
    for (const [purpose, command] of steps) this.#print(`  ${padEnd(purpose, width)}  ${this.#paint('cyan', command)}`)
    this.#print('')
  }

  dashboard(url) {
    this.#print(`  ${this.#paint('bold', 'The dashboard')} is open at ${this.#paint('cyan', url)}`)
    this.#print(`  ${this.#paint('dim', 'until Ctrl-C')}`, '')
  }

  stopped(text) {
    this.#print('', `  ${this.#paint('yellow', text)}`)
  }

  /** Prints row, SKU and reason of each row. */
  #table(rows) {
    const named = rows.some(({ sku }) => sku !== undefined)
    const lines = [{ row: 'Row', sku: 'SKU', reason: 'Reason' }].concat(
      rows.map(({ row, sku, reason }) => ({ row: String(row ?? ''), sku: shorten(sku || '–', WIDEST_SKU), reason })),
    )
    const row = Math.max(...lines.map((line) => widthOf(line.row)))
    const sku = named ? Math.max(...lines.map((line) => widthOf(line.sku))) + 2 : 0
    const left = Math.max(20, (this.#out.columns || WIDTH) - row - sku - 5)
    for (const [i, line] of lines.entries()) {
      const text = `  ${padStart(line.row, row)}  ${named ? padEnd(line.sku, sku) : ''}${shorten(line.reason, left)}`
      this.#print(i === 0 ? this.#paint('dim', text) : text)
    }
  }

  #print(...lines) {
    this.#out.write(lines.map((line) => `${line}\n`).join(''))
  }
}
