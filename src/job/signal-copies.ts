/**
 * Tells a second Ctrl-C from the copy of the first one: npm sends each signal on to its child, which the terminal has
 * signalled already.
 */

/** Nobody presses Ctrl-C twice within this time. */
const COPY_MS = 500

/** Returns a function that returns, for each signal, whether it is a copy of the one before. `now` is in milliseconds. */
export function signalCopies(now = () => performance.now()): () => boolean {
  let at = Number.NEGATIVE_INFINITY
  return () => {
    const isCopy = now() - at < COPY_MS
    if (!isCopy) at = now()
    return isCopy
  }
}
