/** Watches the link or the login by which a stream or a download was opened. */

import { codeOf, HighkiqError } from '../../job/errors.ts'
import { endOfToken } from '../../tasks/link.ts'
import { tokenOf } from '../access/access.ts'
import type { Call } from './route.ts'

/** The shortest time between two questions to the store whether the link was revoked, or the login ended. */
const CHECK_MS = 1000

export interface CallerWatch {
  /** Asks the store, unless it was asked within a second. */
  check(): void
  /** Returns whether the link has expired or was revoked, or the caller has logged out, as of the last `check`. */
  hasEnded(): boolean
}

/** Returns undefined for a caller who came neither by a link nor by the cookie of a login: no other right ends. */
export function watchCaller(call: Call<unknown>, task = ''): CallerWatch | undefined {
  const { hq, server, request, url, link, isByCookie } = call
  if (!link && !isByCookie) return undefined
  const token = tokenOf(request, url) ?? ''
  const until = link && endOfToken(token)
  const mayStay = async () => {
    if (!link) return server.access.isSignedIn(request)
    return server.links.opens({ task }, token).then(
      () => true,
      // The task poller, or the download itself, reports a deleted task. A store that does not answer is asked again.
      (thrown) => codeOf(thrown) !== 'UNAUTHORIZED',
    )
  }
  let isRefused = false
  let checkedAt = performance.now()
  return {
    hasEnded: () => isRefused || (until !== undefined && hq.now() >= until * 1000),
    check() {
      if (performance.now() - checkedAt < CHECK_MS) return
      checkedAt = performance.now()
      mayStay().then((mayIt) => {
        isRefused ||= !mayIt
      })
    },
  }
}

/** Returns a function that checks the caller, and returns whether its right has ended. */
export function endOfCaller(watch: CallerWatch | undefined): () => boolean {
  return () => {
    watch?.check()
    return watch?.hasEnded() === true
  }
}

/** Returns a function that checks the caller of a download, and returns an error when its right has ended. */
export function refusalOfCaller(watch: CallerWatch): () => HighkiqError | undefined {
  const hasEnded = endOfCaller(watch)
  return () =>
    hasEnded() ? new HighkiqError('UNAUTHORIZED', 'the link or the login of this download has ended') : undefined
}
