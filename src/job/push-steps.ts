/** Runs a push in several steps. When a step fails, the error names the items that the others stored or never sent. */

import { HighkiqError, PushError } from './errors.ts'

export interface PushStep {
  items: readonly unknown[]
  put(): Promise<void>
}

export interface StepsOptions {
  /**
   * Returns whether a step that failed with this error, which is not a PushError, may have been done all the same. By
   * default it has not: that holds for a store that rolls a failed step back, as SQLite does.
   */
  maybeDone?: (thrown: HighkiqError) => boolean
  /** Wraps the run of all steps, for example to wait for replicas. No step counts as stored before it resolves. */
  around?: ((steps: () => Promise<void>) => Promise<void>) | undefined
}

/**
 * Runs the steps one after the other.
 * @throws PushError with its `parts`
 */
export async function inSteps(steps: readonly PushStep[], options: StepsOptions = {}): Promise<void> {
  const { maybeDone = () => false, around } = options
  let at = 0
  const run = async () => {
    for (; at < steps.length; at++) await (steps[at] as PushStep).put()
  }
  try {
    await (around ? around(run) : run())
  } catch (thrown) {
    if (!(thrown instanceof HighkiqError)) throw thrown
    const own = thrown instanceof PushError ? thrown : undefined
    const failed = steps[at]?.items ?? []
    const isRefused = own ? !own.maybePushed : !maybeDone(thrown)
    const before = around ? [] : steps.slice(0, at).flatMap(({ items }) => items)
    const behind = steps.slice(at + 1).flatMap(({ items }) => items)
    const parts = {
      stored: new Set([...before, ...(around ? [] : (own?.parts?.stored ?? []))]),
      refused: new Set([...(isRefused ? failed : (own?.parts?.refused ?? [])), ...behind]),
    }
    const cause = own ? own.cause : thrown
    throw new PushError(thrown.message, own?.jids ?? [], at > 0 || !isRefused, { cause, parts })
  }
}
