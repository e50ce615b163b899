/** The newest events of jobs, as the stream of the server brings them. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, apiErrorOf, type ErrorAnswer, type Query, refusalOf, urlOf } from '../api/client.ts'
import type { JobEvent, JobEventKind } from '../api/types.ts'
import { serverNow } from '../format/time.ts'

const MOST_ROWS = 300
const REOPEN_MS = 5000

export interface JobEventList {
  /** Newest first. */
  events: readonly JobEvent[]
  /** When the list began: it has no earlier events. Undefined until the stream is ready. */
  since: Date | undefined
  error: ApiError | undefined
}

const EMPTY: JobEventList = { events: [], since: undefined, error: undefined }

/**
 * Follows the events that match the filter, whose members are parameters of `/events`. Paused, and in a hidden tab, it has
 * no stream, since a browser opens only six connections to a server. Afterwards it continues where it stopped.
 */
export function useJobEvents(filter: Query, kinds: readonly JobEventKind[], isPaused: boolean): JobEventList {
  const key = JSON.stringify(filter)
  const [state, setState] = useState({ key, list: EMPTY })
  const position = useRef<{ key: string; after: string | undefined }>({ key, after: undefined })

  useEffect(() => {
    if (position.current.key !== key) {
      position.current = { key, after: undefined }
      // The list of a filter that was left before is not continued, since it would have a hole.
      setState({ key, list: EMPTY })
    }
    if (isPaused) return
    const update = (change: (list: JobEventList) => Partial<JobEventList>) =>
      setState((old) => {
        const list = old.key === key ? old.list : EMPTY
        return { key, list: { ...list, ...change(list) } }
      })
    return follow(JSON.parse(key) as Query, kinds, position.current, update)
  }, [key, kinds, isPaused])

  return state.key === key ? state.list : EMPTY
}

/** @returns a function that ends it */
function follow(
  filter: Query,
  kinds: readonly JobEventKind[],
  position: { after: string | undefined },
  update: (change: (list: JobEventList) => Partial<JobEventList>) => void,
): () => void {
  let source: EventSource | undefined
  let reopening: ReturnType<typeof setTimeout> | undefined
  let painting: number | undefined
  let fresh: JobEvent[] = []

  const paint = () => {
    painting = undefined
    const newest = fresh.reverse()
    fresh = []
    update(({ events }) => ({ events: [...newest, ...events].slice(0, MOST_ROWS) }))
  }
  const close = () => {
    clearTimeout(reopening)
    reopening = undefined
    source?.close()
    source = undefined
  }
  const reopenLater = () => {
    close()
    reopening = setTimeout(open, REOPEN_MS)
  }
  const explain = async (why: Promise<ApiError | undefined>) => {
    const later = reopening
    const error = await why
    // Meanwhile the stream may have been opened again, or closed for good.
    if (error && later === reopening) update(() => ({ error }))
  }
  const open = () => {
    close()
    if (document.hidden) return
    const query = { ...filter, after: position.after }
    source = new EventSource(urlOf('/events', query))
    source.addEventListener('ready', ({ lastEventId }) => {
      position.after = lastEventId
      update(({ since }) => ({ since: since ?? new Date(serverNow()), error: undefined }))
    })
    for (const kind of kinds) {
      source.addEventListener(kind, ({ data, lastEventId }: MessageEvent<string>) => {
        position.after = lastEventId
        fresh.push(JSON.parse(data) as JobEvent)
        if (fresh.length > MOST_ROWS) fresh.shift()
        // One rendering shows all events that came since the last one.
        painting ??= requestAnimationFrame(paint)
      })
    }
    source.addEventListener('trouble', ({ data }: MessageEvent<string>) => {
      const problem = JSON.parse(data) as ErrorAnswer
      if (problem.code === 'EVENTS_TRIMMED') {
        // The list begins again, so that it never has a hole.
        position.after = undefined
        fresh = []
        update(() => EMPTY)
        open()
      } else {
        reopenLater()
        void explain(apiErrorOf(problem))
      }
    })
    source.addEventListener('error', () => {
      // The browser itself reopens a stream that broke off, but not one that was refused.
      if (source?.readyState !== EventSource.CLOSED) return
      reopenLater()
      void explain(refusalOf('/events', query))
    })
  }
  document.addEventListener('visibilitychange', open)
  open()
  return () => {
    document.removeEventListener('visibilitychange', open)
    if (painting !== undefined) {
      cancelAnimationFrame(painting)
      paint()
    }
    close()
  }
}
