/** Reads the filter of a set from the address, for requests and for people. */

import { t } from '../../i18n/index.ts'

export const FILTERS = ['search', 'class', 'error', 'cause', 'queue'] as const
export type Filter = Partial<Record<(typeof FILTERS)[number], string>>

/** Returns the filter without empty values. */
export function filterIn(query: Record<string, string>): Filter {
  return Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

export function isFiltered(filter: Filter): boolean {
  return Object.keys(filter).length > 0
}

/** Describes the filter for people: `error ECONNREFUSED*, queue mail`. */
export function filterText(filter: Filter): string {
  return FILTERS.flatMap((name) => (filter[name] ? [`${t(`sets.filter.${name}`)} ${filter[name]}`] : [])).join(', ')
}
