/** The address is the state: filters, sorting, the open row and the page are in it, so that it can be shared. */

import { useLocation } from 'preact-iso'

export type Change = Record<string, string | null | undefined>

export function useQuery(): [
  query: Record<string, string>,
  change: (what: Change, how?: { replace?: boolean }) => void,
  /** The address that a change leads to, for a link. */
  link: (what: Change) => string,
] {
  const { query, route } = useLocation()
  const link = (what: Change) => {
    // As it is now: somebody may have gone on since this was drawn.
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
