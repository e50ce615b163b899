/** Keeps the state of a page in its address: filters, sorting, the open row and the page, so that it can be shared. */

import { useLocation } from 'preact-iso'

export type Change = Record<string, string | null | undefined>

export function useQuery(): [
  query: Record<string, string>,
  change: (what: Change, how?: { replace?: boolean }) => void,
  /** Returns the address that a change leads to, for a link. */
  link: (what: Change) => string,
] {
  const { query, route } = useLocation()
  const link = (what: Change) => {
    // Reads the current address: it may have changed since the last rendering.
    const { pathname: path, search: now } = window.location
    const search = new URLSearchParams(now)
    for (const [name, value] of Object.entries(what)) {
      if (value === null || value === undefined || value === '') search.delete(name)
      else search.set(name, value)
    }
    return `${path}${search.size > 0 ? `?${search}` : ''}`
  }
  const change = (what: Change, { replace = false } = {}) => route(link(what), replace)
  return [query, change, link]
}
