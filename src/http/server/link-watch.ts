/** Watches the link by which a stream or a download was opened. */

import { codeOf, HighkiqError } from '../../job/errors.ts'
import { endOfToken } from '../../tasks/link.ts'
import { tokenOf } from '../access/access.ts'
import type { Call } from './route.ts'

/** How often the store is asked whether the link was revoked. */
const CHECK_MS = 1000

export interface LinkWatch {
  /** Asks the store, unless it was asked within a second. */
  check(): void
  /** Returns whether the link has expired or was revoked, as of the last `check`. */
  hasEnded(): boolean
}

/** Returns undefined for a caller who came by no link. */
export function watchLink({ hq, server, request, url, link }: Call<unknown>, task: string): LinkWatch | undefined {
  if (!link) return undefined
  const token = tokenOf(request, url) ?? ''
  const until = endOfToken(token)
  let isRevoked = false
  let checkedAt = performance.now()
  return {
    hasEnded: () => isRevoked || (until !== undefined && hq.now() >= until * 1000),
    check() {
      if (performance.now() - checkedAt < CHECK_MS) return
      checkedAt = performance.now()
      server.links.opens({ task }, token).then(
        () => {},
        (thrown) => {
          // The task poller, or the download itself, reports a deleted task. A store that does not answer is asked again.
          if (codeOf(thrown) === 'UNAUTHORIZED') isRevoked = true
        },
      )
    },
  }
}

/** Returns a function that checks the link, and returns an error when it has ended. */
export function endOfLink(watch: LinkWatch): () => HighkiqError | undefined {
  return () => {
    watch.check()
    return watch.hasEnded() ? new HighkiqError('UNAUTHORIZED', 'the link of this download has ended') : undefined
  }
}
