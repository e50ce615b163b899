/** Searches jobs answer by answer: each reads a limited number of jobs. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, ask } from '../../api/client.ts'
import type { JobHit, Searched } from '../../api/types.ts'

/** About how many jobs are shown before the viewer asks for more. */
const LIMIT = 50
/** A search without enough jobs ends after this time, until the viewer asks for more. */
const LONGEST_MS = 10_000

interface Found {
  items: readonly JobHit[]
  /** The cursor of the next answer; null when all jobs were searched. */
  next: string | null
  scanned: number
}

export interface JobSearch extends Found {
  /** True when the first answer has arrived. */
  hasBegun: boolean
  isSearching: boolean
  error: ApiError | undefined
  /** Searches for further jobs. */
  further(): void
  /** Searches from the start. */
  again(): void
}

const NOTHING: Found = { items: [], next: null, scanned: 0 }

export function useSearch(filter: Record<string, string>): JobSearch {
  const key = JSON.stringify(filter)
  const [state, setState] = useState<{ key: string; found: Found; isSearching: boolean; error?: ApiError }>()
  const latest = useRef(0)
  const search = useCallback(
    async (begin: Found) => {
      const run = ++latest.current
      const isLatest = () => run === latest.current
      const wanted = begin.items.length + LIMIT
      const end = performance.now() + LONGEST_MS
      let found = begin
      try {
        for (;;) {
          const query = { ...JSON.parse(key), cursor: found.next, limit: wanted - found.items.length }
          const { items, next, scanned } = await ask<Searched<JobHit>>('/jobs', query)
          if (!isLatest()) return
          found = { items: [...found.items, ...items], next, scanned: found.scanned + scanned }
          const isSearching = next !== null && found.items.length < wanted && performance.now() < end
          setState({ key, found, isSearching })
          if (!isSearching) return
        }
      } catch (error) {
        if (isLatest()) setState({ key, found, isSearching: false, error: error as ApiError })
      }
    },
    [key],
  )
  useEffect(() => {
    void search(NOTHING)
    return () => {
      latest.current++
    }
  }, [search])
  const current = state?.key === key ? state : undefined
  const found = current?.found ?? NOTHING
  return {
    ...found,
    ...{ hasBegun: current !== undefined, isSearching: current?.isSearching ?? true, error: current?.error },
    further() {
      setState({ key, found, isSearching: true })
      void search(found)
    },
    again: () => void search(NOTHING),
  }
}
