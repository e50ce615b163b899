/** Data of a page: asked for when its address changes, and again with each pulse while somebody looks. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, ask, type Query } from '../api/client.ts'
import { beat } from './live-stats.ts'

export interface Data<Answer> {
  /** What was answered last, also while it is asked again. */
  data: Answer | undefined
  error: ApiError | undefined
  /** Ask again now, for instance after an act. */
  reload(): Promise<void>
}

/** What took long is asked for more rarely: a page costs the server at most about a tenth of its time. */
const REST = 10
const LONGEST_REST_MS = 15_000

export function useData<Answer>(
  path: string | null,
  query: Query = {},
  options: { live?: boolean } = {},
): Data<Answer> {
  const { live = true } = options
  const key = path === null ? null : JSON.stringify([path, query])
  const [state, setState] = useState<{ key: string | null; data?: Answer; error?: ApiError }>({ key: null })
  const run = useRef({ key, asked: 0, shown: 0, open: 0, took: 0, notBefore: 0 })
  run.current.key = key

  const load = useCallback(async () => {
    const wanted = run.current.key
    if (wanted === null) return
    const [at, how] = JSON.parse(wanted) as [string, Query]
    const begun = performance.now()
    const turn = ++run.current.asked
    // What was asked before an act may come after what was asked behind it.
    const isNews = () => {
      if (run.current.key !== wanted || turn < run.current.shown) return false
      run.current.shown = turn
      return true
    }
    run.current.open++
    try {
      const data = await ask<Answer>(at, how)
      if (isNews()) setState({ key: wanted, data })
    } catch (error) {
      if (isNews()) setState((old) => ({ ...(old.key === wanted ? old : {}), key: wanted, error: error as ApiError }))
    } finally {
      run.current.open--
      const took = performance.now() - begun
      // One that took long among others may have been unlucky, and so may the first one.
      run.current.notBefore = performance.now() + Math.min(Math.min(took, run.current.took) * REST, LONGEST_REST_MS)
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
