/** Loads the data of a page when its address changes, and again with each update while the page is visible. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, ask, type Query } from '../api/client.ts'
import { beat } from './live-stats.ts'

export interface Data<Answer> {
  /** The last answer, also while it is requested again. */
  data: Answer | undefined
  error: ApiError | undefined
  /** Requests it again now, for example after an action. */
  reload(): Promise<void>
}

/** Slow answers are requested less often: a list costs the server at most about a twentieth of its time. */
const REST = 20
export const LONGEST_REST_MS = 15_000

interface DataOptions<Answer> {
  /** False to load the data once for each address. Default: true. */
  live?: boolean
  /**
   * The least pause between an answer and the next request, in milliseconds, for large answers. A function returns the pause
   * after an answer. Default: 0.
   */
  restMs?: number | ((data: Answer) => number)
  /** Loads the data in place of one request. */
  load?: (path: string, query: Query) => Promise<Answer>
}

export function useData<Answer>(
  path: string | null,
  query: Query = {},
  options: DataOptions<Answer> = {},
): Data<Answer> {
  const { live = true, restMs = 0, load: fetched = ask<Answer> } = options
  const key = path === null ? null : JSON.stringify([path, query])
  const [state, setState] = useState<{ key: string | null; data?: Answer; error?: ApiError }>({ key: null })
  const run = useRef({ key, fetched, restMs, asked: 0, shown: 0, open: 0, took: 0, notBefore: 0 })
  run.current.key = key
  run.current.fetched = fetched
  run.current.restMs = restMs

  const load = useCallback(async () => {
    const wanted = run.current.key
    if (wanted === null) return
    const [at, how] = JSON.parse(wanted) as [string, Query]
    const begun = performance.now()
    const request = ++run.current.asked
    // An answer that was requested before an action may arrive after a newer one.
    const isNewest = () => {
      if (run.current.key !== wanted || request < run.current.shown) return false
      run.current.shown = request
      return true
    }
    run.current.open++
    let leastRest = 0
    try {
      const data = await run.current.fetched(at, how)
      const { restMs } = run.current
      leastRest = typeof restMs === 'number' ? restMs : restMs(data)
      if (isNewest()) setState({ key: wanted, data })
    } catch (error) {
      if (isNewest()) setState((old) => ({ ...(old.key === wanted ? old : {}), key: wanted, error: error as ApiError }))
    } finally {
      run.current.open--
      const took = performance.now() - begun
      // The first answer, or a single slow one, says little about the usual time.
      const rest = Math.min(Math.min(took, run.current.took) * REST, LONGEST_REST_MS)
      run.current.notBefore = performance.now() + Math.max(rest, leastRest)
      run.current.took = took
    }
  }, [])

  useEffect(() => void load(), [key, load])
  useEffect(() => {
    if (!live) return
    return beat.subscribe(() => {
      const { open, notBefore } = run.current
      if (open === 0 && !document.hidden && performance.now() >= notBefore) void load()
    })
  }, [live, load])

  const isCurrent = state.key === key
  return { data: isCurrent ? state.data : undefined, error: isCurrent ? state.error : undefined, reload: load }
}
