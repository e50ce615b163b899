/** The usual sources of iterable jobs: arrays, CSV files, and pages of a remote list. */

import { invalidFile } from '../job/errors.ts'
import { checkOptions } from '../job/options.ts'
import type { CsvReading } from '../tasks/spreadsheet/csv.ts'
import type { Pair } from './definition.ts'

export interface ItemPage<Item, Next> {
  items: readonly Item[]
  /** Identifies the next page; null or undefined after the last page. */
  next?: Next | null | undefined
}

/** A page and an index in it. The first page is null. */
export interface PageCursor<Next> {
  page: Next | null
  index: number
}

/** Options for reading a CSV file. Delimiter and encoding are detected unless you give them, as in imports. */
export interface CsvOptions extends Pick<CsvReading, 'delimiter' | 'quote' | 'encoding'> {
  /** Whether the first row names the columns; default true. Items are then objects, otherwise arrays. */
  header?: boolean
}

/**
 * Functions that return items with cursors, for `enumerate`.
 *
 * @example
 * hq.iterable('Notify', {
 *   enumerate: (_ctx, cursor, ids: number[]) => iterate.array(ids, cursor),
 *   each: async (ctx, id) => { … },
 * })
 */
export const iterate = {
  /** Yields the items of an array. The cursor is the item's index. */
  *array<Item>(items: readonly Item[], cursor: number | null): Generator<Pair<Item, number>> {
    for (let index = cursor ?? 0; index < items.length; index++) yield [items[index] as Item, index]
  },

  /**
   * Yields the rows of a CSV file, which is read as needed; blank rows are skipped. The cursor is the row's index
   * without the header.
   * @throws INVALID_FILE for a file that can't be read, or a row with more or fewer cells than the first
   */
  async *csv<Row = Record<string, string>>(
    path: string,
    cursor: number | null,
    options: CsvOptions = {},
  ): AsyncGenerator<Pair<Row, number>> {
    checkOptions('iterate.csv', options, { header: 'flag', delimiter: 'text', quote: 'flag', encoding: 'text' })
    const { header = true, ...reading } = options
    // Loaded on first use, so that an app that only pushes jobs starts faster.
    const [{ csvRecords }, { openSource }] = await Promise.all([
      import('../tasks/spreadsheet/csv.ts'),
      import('../tasks/spreadsheet/source.ts'),
    ])
    let first: unknown[] | undefined
    let index = 0
    for await (const batch of csvRecords(await openSource(path), reading)) {
      for (const { number, values } of batch) {
        if (values.length === 1 && values[0] === '') continue
        if (values.length !== (first ?? values).length) {
          const message = `row ${number} must have as many columns as the first row, ${first?.length} (got ${values.length})`
          throw invalidFile(message, { row: number })
        }
        const isHeader = header && !first
        first ??= values
        if (isHeader) continue
        if (index >= (cursor ?? 0)) {
          const row = header ? Object.fromEntries(first.map((name, i) => [name, values[i]])) : values
          yield [row as Row, index]
        }
        index++
      }
    }
  },

  /** Yields the items page by page. `fetch` receives the `next` of the page before, and null for the first page. */
  async *pages<Item, Next>(
    fetch: (page: Next | null) => Promise<ItemPage<Item, Next>> | ItemPage<Item, Next>,
    cursor: PageCursor<Next> | null,
  ): AsyncGenerator<Pair<Item, PageCursor<Next>>> {
    let { page, index } = cursor ?? { page: null, index: 0 }
    for (;;) {
      const { items, next } = await fetch(page)
      for (; index < items.length; index++) yield [items[index] as Item, { page, index }]
      if (next === null || next === undefined) return
      page = next
      index = 0
    }
  },
}
