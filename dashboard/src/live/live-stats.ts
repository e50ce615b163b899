/** The live stats of the whole page. The server sends them every two seconds, over one stream for each browser. */

import { signal } from '@preact/signals'
import { ApiError, ask } from '../api/client.ts'
import type { About, LiveStats } from '../api/types.ts'
import { learnClock } from '../format/time.ts'
import { isLate } from './late.ts'
import { type Figures, shareStream } from './shared-stream.ts'

/** `polling`: no stream arrives, so the page polls. `down`: the server does not answer. */
export type Connection = 'starting' | 'live' | 'polling' | 'down'

export const about = signal<About | null>(null)
export const liveStats = signal<LiveStats | null>(null)
export const connection = signal<Connection>('starting')
/** The time since which the server has not answered. */
export const downSince = signal<Date | null>(null)
/** Grows with each update: components with live data request it again. */
export const beat = signal(0)

/** A page that becomes visible asks for its figures when none arrived within this many milliseconds. */
const FIRST_WAIT_MS = 300
/** A stream that is silent for this many milliseconds is broken, or a proxy holds it back. */
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
    // Another tab may have the stream: its next figures arrive within two seconds.
    else silence = setTimeout(() => void first(), FIRST_WAIT_MS)
  }
  document.addEventListener('visibilitychange', follow)
  follow()
}

/**
 * Loads figures for a page that has none or old ones. It leaves `live` unchanged, since one answer does not prove a
 * stream.
 */
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

/** Polls at once, for the button. */
export async function poll(): Promise<void> {
  try {
    show({ stats: await ask<LiveStats>('/live-stats'), by: 'polling' })
  } catch (thrown) {
    connection.value = 'down'
    downSince.value ??= new Date()
    pollAfter(POLL_MS)
    if (thrown instanceof ApiError && thrown.status === 401) location.reload()
  }
}

/** Requests the live stats now, so that the effect of an action shows at once. */
export async function refresh(): Promise<LiveStats> {
  const now = await ask<LiveStats>('/live-stats')
  update(now)
  return now
}

/** An answer may arrive after newer figures of the stream. */
function update(stats: LiveStats): void {
  if (isLate(stats.at, liveStats.value?.at)) return
  learnClock(stats.at)
  liveStats.value = stats
}

function show({ stats, by }: Figures): void {
  if (document.hidden) return
  pollAfter(by === 'live' ? QUIET_MS : POLL_MS)
  update(stats)
  connection.value = by
  downSince.value = null
  beat.value++
  // Without these facts no action is offered, so a failed request is repeated.
  if (!about.value) void learnAbout()
}

let learning: Promise<void> | undefined

function learnAbout(): Promise<void> {
  learning ??= ask<About>('/about')
    .then(
      (answer) => {
        about.value = answer
      },
      () => {},
    )
    .finally(() => {
      learning = undefined
    })
  return learning
}
