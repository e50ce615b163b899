/** Pushes of jobs, tracked jobs and ordered jobs share this: their errors, and waiting for replicas. */

import { HighkiqError, PushError, type Refusal } from '../../../job/errors.ts'
import { inSteps, type PushStep } from '../../../job/push-steps.ts'
import { maybeDone } from './errors.ts'
import type { Server } from './server.ts'

/** Makes a PushError of an error of the store. */
export function pushError(thrown: unknown, jids: string[] = []): unknown {
  if (!(thrown instanceof HighkiqError)) return thrown
  return new PushError(thrown.message, jids, maybeDone(thrown), { cause: thrown })
}

/** Pushes in steps; resolves with what they refused once `waitForReplicas` replicas have confirmed the jobs. @throws PushError */
export function storedInSteps<Refused extends Refusal>(
  server: Server,
  steps: readonly PushStep<Refused>[],
): Promise<readonly Refused[]> {
  const confirmed = (work: () => Promise<void>) => server.confirmedByReplicas(work)
  return inSteps(steps, { maybeDone, around: server.options.waitForReplicas > 0 ? confirmed : undefined })
}
