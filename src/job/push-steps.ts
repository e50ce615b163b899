/** Runs a push in several steps. When a step fails, the error says which items are stored, and which are not. */

import { HighkiqError, messageOf, PushError, type Refusal } from './errors.ts'

export interface PushStep<Refused extends Refusal = Refusal> {
  items: readonly unknown[]
  /** Resolves with the items that the store refused, if there are any. */
  put(): Promise<readonly Refused[]> | Promise<void>
}

export interface StepsOptions {
  /**
   * Returns whether a step that failed with this error, which is not a PushError, may have been done all the same. By
   * default it has not: that holds for a store that rolls a failed step back.
   */
  maybeDone?: (thrown: HighkiqError) => boolean
  /** Returns what a step threw as a HighkiqError, where that is possible. After any other error the step may have been done. */
  explain?: (thrown: unknown) => unknown
  /** Wraps the run of all steps, for example to wait for replicas. No job counts as stored before it resolves. */
  around?: ((steps: () => Promise<void>) => Promise<void>) | undefined
}

/**
 * Runs the steps one after the other. Resolves with what they refused.
 * @throws PushError with its `parts`
 */
export async function inSteps<Refused extends Refusal>(
  steps: readonly PushStep<Refused>[],
  options: StepsOptions = {},
): Promise<readonly Refused[]> {
  const { maybeDone = () => false, explain, around } = options
  const answered: Refused[] = []
  let at = 0
  const run = async () => {
    for (; at < steps.length; at++) answered.push(...((await (steps[at] as PushStep<Refused>).put()) ?? []))
  }
  try {
    await (around ? around(run) : run())
    return answered
  } catch (error) {
    const thrown = explain ? explain(error) : error
    const isOurs = thrown instanceof HighkiqError
    if (!isOurs && steps.length < 2) throw thrown
    const own = thrown instanceof PushError ? thrown : undefined
    const failed = steps[at]?.items ?? []
    const isNotStored = own ? !own.maybePushed : isOurs && !maybeDone(thrown)
    const refusals = [...answered, ...(own?.parts?.refusals ?? [])]
    const refused = refusals.map(({ item }) => item)
    const before = new Set(around ? [] : steps.slice(0, at).flatMap(({ items }) => items))
    for (const item of refused) before.delete(item)
    const behind = steps.slice(at + 1).flatMap(({ items }) => items)
    const parts = {
      stored: new Set([...before, ...(around ? [] : (own?.parts?.stored ?? []))]),
      notStored: new Set([...refused, ...(isNotStored ? failed : (own?.parts?.notStored ?? [])), ...behind]),
      // Without the replicas, the job that holds a lock is not certain to stay.
      refusals: around ? [] : refusals,
    }
    const cause = own ? own.cause : thrown
    // Of the whole call: some of its jobs are or may be stored. `client/push-target.ts` narrows it to the jobs whose outcome is
    // unknown.
    const maybePushed = at > 0 || !isNotStored
    throw new PushError(messageOf(thrown), own?.jids ?? [], maybePushed, { cause, parts })
  }
}
