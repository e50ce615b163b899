/** The live stats of the whole page. The server sends them every two seconds, over one stream for each browser. */

import { signal } from '@preact/signals'
import { ApiError, ask } from '../api/client.ts'
import type { About, LiveStats } from '../api/types.ts'
import { type Figures, shareStream } from './shared-stream.ts'

/** `polling`: no stream gets through, so the page asks instead. `down`: the server does not answer. */
export type Connection = 'starting' | 'live' | 'polling' | 'down'

export const about = signal<About | null>(null)
export const liveStats = signal<LiveStats | null>(null)
export const connection = signal<Connection>('starting')
/** Since when nobody answers. */
export const downSince = signal<Date | null>(null)
/** Grows with each pulse: what shows live data asks again. */
export const beat = signal(0)

/** A page that becomes visible asks for its figures when none arrived within this many milliseconds. */
const FIRST_WAIT_MS = 300
/** After this many silent milliseconds the stream must be cut, or held back by a proxy. */
const QUIET_MS = 6000
const POLL_MS = 5000

let silence: ReturnType<typeof setTimeout> | undefined

export function startLiveStats(): void {
  void learnAbout()
  const stream = shareStream(show)
  const follow = () => {
    clearTimeout(silence)
    stream.setWanted(!document.hidden)
    if (document.hidden) return
    if (!stream.isPossible) void poll()
    // Another tab may have the stream: its next figures come within two seconds.
    else silence = setTimeout(() => void first(), FIRST_WAIT_MS)
  }
  document.addEventListener('visibilitychange', follow)
  follow()
}

/** Loads figures for a page that has none yet, or old ones. It does not change `live`: that is not known so early. */
async function first(): Promise<void> {
  pollAfter(QUIET_MS)
  await refresh().then(
    () => beat.value++,
    () => poll(),
  )
}

/** Polls when the stream was silent for `QUIET_MS`, until the stream is back. */
function pollAfter(ms: number): void {
  clearTimeout(silence)
  silence = setTimeout(() => void poll(), ms)
}

/** Asks at once, as a button does. */
export async function poll(): Promise<void> {
  try {
    show({ pulse: await ask<LiveStats>('/live-stats'), by: 'polling' })
  } catch (thrown) {
    connection.value = 'down'
    downSince.value ??= new Date()
    pollAfter(POLL_MS)
    if (thrown instanceof ApiError && thrown.status === 401) location.reload()
  }
}

/** After something was done: what it changed is seen at once. */
export async function refresh(): Promise<LiveStats> {
  const now = await ask<LiveStats>('/live-stats')
  liveStats.value = now
  return now
}

function show({ pulse: now, by }: Figures): void {
  if (document.hidden) return
  pollAfter(by === 'live' ? QUIET_MS : POLL_MS)
  liveStats.value = now
  connection.value = by
  downSince.value = null
  beat.value++
  // Without it no act is offered: what failed once is asked for again.
  if (!about.value) void learnAbout()
}

let learning: Promise<void> | undefined

function learnAbout(): Promise<void> {
  learning ??= ask<About>('/about')
    .then(
      (told) => {
        about.value = told
      },
      () => {},
    )
    .finally(() => {
      learning = undefined
    })
  return learning
}
