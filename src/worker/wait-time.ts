import type { Payload } from '../job/payload.ts'

/** A time below this is in seconds, as Sidekiq 7 and 6 write it. As milliseconds it would be in the year 1973. */
const LEAST_MS = 1e11

/** Returns the milliseconds that a job waited in its queue until `startedAt`; undefined when its text does not say. */
export function waitOf({ enqueued_at: at }: Payload, startedAt: number): number | undefined {
  if (typeof at !== 'number' || !Number.isFinite(at)) return undefined
  return Math.max(startedAt - (at < LEAST_MS ? at * 1000 : at), 0)
}
