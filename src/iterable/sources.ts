/** What iterable jobs go through most: arrays, files, and pages of somebody else's list. */

import { createReadStream } from 'node:fs'
import type { Options } from 'csv-parse'
import type { Pair } from './definition.ts'

export interface ItemPage<Item, Next> {
  items: readonly Item[]
  /** What to ask for next; null or undefined: this was the last page. */
  next?: Next | null | undefined
}

/** Where in which page; the first page is asked for with null. */
export interface PageCursor<Next> {
  page: Next | null
  index: number
}

export interface CsvOptions extends Pick<Options, 'delimiter' | 'quote' | 'encoding' | 'relax_column_count'> {
  /** true (the default): the first row names the columns and each item is an object; false: arrays. */
  header?: boolean
}

/**
 * Items with cursors, for `enumerate`.
 *
 * @example
 * hq.iterable('Notify', {
 *   enumerate: (_ctx, cursor, ids: number[]) => iterate.array(ids, cursor),
 *   each: async (ctx, id) => { … },
 * })
 */
export const iterate = {
  /** The cursor is the item's index. */
  *array<Item>(items: readonly Item[], cursor: number | null): Generator<Pair<Item, number>> {
    for (let index = cursor ?? 0; index < items.length; index++) yield [items[index] as Item, index]
  },

  /** The rows of a CSV file, read as they are needed. The cursor is the row's index, the header not counted. */
  async *csv<Row = Record<string, string>>(
    path: string,
    cursor: number | null,
    { header = true, ...options }: CsvOptions = {},
  ): AsyncGenerator<Pair<Row, number>> {
    const { parse } = await import('csv-parse')
    const file = createReadStream(path)
    const rows = parse({ bom: true, skip_empty_lines: true, columns: header, ...options })
    // Else nobody would hear that the file is not there.
    file.on('error', (error) => rows.destroy(error))
    let index = 0
    try {
      for await (const row of file.pipe(rows)) {
        if (index >= (cursor ?? 0)) yield [row as Row, index]
        index++
      }
    } finally {
      file.destroy()
    }
  },

  /** The items of one page after the other; `fetch` gets what the page before called `next`. */
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
