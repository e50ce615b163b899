/** Checks a page of an export when its job returns it, so that faults do not first show at the download. */

import { meantBy } from '../job/options.ts'

/**
 * Checks a page on its own.
 * @returns `problem`: why no file can be made of it; `missing`: columns that no row of this page has
 */
export function checkPage(
  rows: readonly unknown[],
  columns: readonly string[] | undefined,
): { problem?: string; missing?: string[] } {
  const seen = new Set<string>()
  for (const [i, row] of rows.entries()) {
    const which = `row ${i + 1} of the page`
    if (typeof row !== 'object' || row === null) return { problem: `${which} is neither an object nor a list of cells` }
    if (!Array.isArray(row)) {
      for (const name of Object.keys(row)) seen.add(name)
    } else if (!columns) {
      return { problem: `${which} is a list: name its cells in the option columns of tasks.export` }
    } else if (row.length > columns.length) {
      return { problem: `${which} has ${row.length} cells, and the export ${columns.length} columns` }
    }
  }
  // Lists have no names.
  const missing = seen.size === 0 ? [] : (columns ?? []).filter((name) => !seen.has(name))
  const others = [...seen].filter((name) => !columns?.includes(name))
  for (const name of missing) {
    const meant = others.find((other) => simple(other) === simple(name)) ?? meantBy(name, others)
    if (meant) return { problem: `no row has ${JSON.stringify(name)}, a column of the export; did you mean ${meant}?` }
  }
  return missing.length > 0 ? { missing } : {}
}

const simple = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
