/** Pushes of jobs, tracked jobs and ordered jobs share this: their errors, and waiting for replicas. */

import { HighkiqError, PushError } from '../../../job/errors.ts'
import { inSteps, type PushStep } from '../../../job/push-steps.ts'
import { maybeDone } from './connection.ts'
import type { Server } from './server.ts'

/** Makes a PushError of an error of the store. */
export function pushError(thrown: unknown, jids: string[] = []): unknown {
  if (!(thrown instanceof HighkiqError)) return thrown
  return new PushError(thrown.message, jids, maybeDone(thrown), { cause: thrown })
}

/** Pushes in steps; resolves once `waitForReplicas` replicas have confirmed the jobs. @throws PushError */
export function storedInSteps(server: Server, steps: readonly PushStep[]): Promise<void> {
  const confirmed = (work: () => Promise<void>) => server.confirmedByReplicas(work)
  return inSteps(steps, { maybeDone, around: server.options.waitForReplicas > 0 ? confirmed : undefined })
}
