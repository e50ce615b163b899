/** Data of a page: asked for when its address changes, and again with each pulse while somebody looks. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, ask, type Query } from '../api/client.ts'
import { beat } from './pulse.ts'

export interface Data<Answer> {
  /** What was answered last, also while it is asked again. */
  data: Answer | undefined
  error: ApiError | undefined
  /** Ask again now, for instance after an act. */
  reload(): Promise<void>
}

/** What took long is asked for more rarely: a page costs the server at most about a tenth of its time. */
const REST = 10

export function useData<Answer>(
  path: string | null,
  query: Query = {},
  options: { live?: boolean } = {},
): Data<Answer> {
  const { live = true } = options
  const key = path === null ? null : JSON.stringify([path, query])
  const [state, setState] = useState<{ key: string | null; data?: Answer; error?: ApiError }>({ key: null })
  const run = useRef({ key, isBusy: false, notBefore: 0 })
  run.current.key = key

  const load = useCallback(async () => {
    const wanted = run.current.key
    if (wanted === null) return
    const [at, how] = JSON.parse(wanted) as [string, Query]
    const begun = performance.now()
    run.current.isBusy = true
    try {
      const data = await ask<Answer>(at, how)
      if (run.current.key === wanted) setState({ key: wanted, data })
    } catch (error) {
      if (run.current.key === wanted) {
        setState((old) => ({ ...(old.key === wanted ? old : {}), key: wanted, error: error as ApiError }))
      }
    } finally {
      run.current.isBusy = false
      run.current.notBefore = performance.now() + (performance.now() - begun) * REST
    }
  }, [])

  useEffect(() => void load(), [key, load])
  useEffect(() => {
    if (!live) return
    return beat.subscribe(() => {
      const { isBusy, notBefore } = run.current
      if (!isBusy && !document.hidden && performance.now() >= notBefore) void load()
    })
  }, [live, load])

  const isCurrent = state.key === key
  return { data: isCurrent ? state.data : undefined, error: isCurrent ? state.error : undefined, reload: load }
}
