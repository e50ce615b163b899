/** Which jobs of a set are meant: what the address says, as the server is asked for it. */

import { t } from '../../i18n/index.ts'

export const FILTERS = ['search', 'class', 'error', 'cause', 'queue'] as const
export type Filter = Partial<Record<(typeof FILTERS)[number], string>>

/** Without what is empty. */
export function filterIn(query: Record<string, string>): Filter {
  return Object.fromEntries(FILTERS.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

export function isFiltered(filter: Filter): boolean {
  return Object.keys(filter).length > 0
}

/** `error ECONNREFUSED*, queue mail`: what they have in common, for people. */
export function filterText(filter: Filter): string {
  return FILTERS.flatMap((name) => (filter[name] ? [`${t(`sets.filter.${name}`)} ${filter[name]}`] : [])).join(', ')
}
