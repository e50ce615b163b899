/**
 * One event stream for all tabs of a browser. Over HTTP/1.1 a browser opens six connections to a server, and each
 * stream keeps one. With a stream in each tab the seventh tab, and with it all others, would wait for ever.
 *
 * The visible tabs ask for one lock. The tab that holds it opens the stream and forwards each event to the others. A
 * tab that becomes hidden releases the lock and closes the stream.
 */

import { urlOf } from '../api/client.ts'
import type { LiveStats } from '../api/types.ts'
import { BASE } from '../base.ts'

export interface Figures {
  stats: LiveStats
  by: 'live' | 'polling'
}

export interface SharedStream {
  /**
   * False on pages that come over plain HTTP from another machine: browsers have no locks there, so there is no stream.
   */
  readonly isPossible: boolean
  /** True when this tab wants figures now. */
  setWanted(isWanted: boolean): void
}

const NAME = `highkiq-live:${BASE}`
const REOPEN_MS = 5000

export function shareStream(show: (figures: Figures) => void): SharedStream {
  const { locks } = navigator as { locks?: LockManager }
  const tabs = new BroadcastChannel(NAME)
  tabs.addEventListener('message', ({ data }: MessageEvent<Figures>) => show(data))
  let wanted: AbortController | undefined

  const lead = (signal: AbortSignal) =>
    locks
      ?.request(NAME, { signal }, () =>
        openStream(signal, (figures) => {
          tabs.postMessage(figures)
          show(figures)
        }),
      )
      // The tab became hidden while it waited for the lock.
      .catch(() => {})
  return {
    isPossible: locks !== undefined,
    setWanted(isWanted) {
      if (isWanted === (wanted !== undefined)) return
      wanted?.abort()
      wanted = isWanted ? new AbortController() : undefined
      if (wanted) void lead(wanted.signal)
    },
  }
}

/** Resolves when the signal aborts. */
function openStream(signal: AbortSignal, onFigures: (figures: Figures) => void): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource
    let reopening: ReturnType<typeof setTimeout>
    const open = () => {
      source = new EventSource(urlOf('/live'))
      source.addEventListener('stats', ({ data }: MessageEvent<string>) => {
        onFigures({ stats: JSON.parse(data) as LiveStats, by: 'live' })
      })
      source.addEventListener('error', () => {
        // A browser reopens a stream that broke off, but not one that was refused, for example by a proxy whose server
        // restarts.
        if (source.readyState === EventSource.CLOSED && !signal.aborted) reopening = setTimeout(open, REOPEN_MS)
      })
    }
    open()
    signal.addEventListener('abort', () => {
      clearTimeout(reopening)
      source.close()
      resolve()
    })
  })
}
