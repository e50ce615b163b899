/** What the whole page knows: how all is, told by the server every two seconds over one connection. */

import { signal } from '@preact/signals'
import { ApiError, ask, urlOf } from '../api/client.ts'
import type { About, Pulse } from '../api/shapes.ts'

/** `polling`: the stream was cut, and it is asked now and then. `down`: nobody answers. */
export type Connection = 'starting' | 'live' | 'polling' | 'down'

export const about = signal<About | null>(null)
export const pulse = signal<Pulse | null>(null)
export const connection = signal<Connection>('starting')
/** Since when nobody answers. */
export const downSince = signal<Date | null>(null)
/** Grows with each pulse: what shows live data asks again. */
export const beat = signal(0)

const POLL_MS = 5000

export function startPulse(): void {
  void learnAbout()
  listen()
}

let polling: ReturnType<typeof setInterval> | undefined

function listen(): void {
  const source = new EventSource(urlOf('/live'))
  source.addEventListener('pulse', (event) => {
    clearInterval(polling)
    polling = undefined
    heard(JSON.parse((event as MessageEvent<string>).data) as Pulse, 'live')
  })
  source.addEventListener('error', () => {
    if (polling === undefined) {
      void poll()
      polling = setInterval(() => void poll(), POLL_MS)
    }
    // A browser comes again by itself to a stream that broke off, but not to one that was refused, as by a proxy whose
    // server begins anew. The page stays: somebody may be in the middle of something.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, POLL_MS)
  })
}

/** Asks at once, as a button does. */
export async function poll(): Promise<void> {
  try {
    heard(await ask<Pulse>('/stats'), 'polling')
  } catch (thrown) {
    connection.value = 'down'
    downSince.value ??= new Date()
    if (thrown instanceof ApiError && thrown.status === 401) location.reload()
  }
}

/** After something was done: what it changed is seen at once. */
export async function look(): Promise<Pulse> {
  const now = await ask<Pulse>('/stats')
  pulse.value = now
  return now
}

function heard(now: Pulse, by: 'live' | 'polling'): void {
  pulse.value = now
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
