/** Passes CurrentAttributes and the locale from a job to the jobs that it pushes, as Rails does. */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import type { Payload } from '../job/payload.ts'
import { decode } from './serial.ts'

const CARRIED = /^(cattr(_\d+)?|locale)$/

/**
 * Gives the `cattr`, `cattr_1`, … and `locale` of a running job to the jobs that it pushes, unless they have their own.
 *
 * @example carryAttributes(hq)
 */
export function carryAttributes(hq: {
  client: Chain<Payload, Payload | null>
  server: Chain<JobContext, unknown>
}): void {
  const running = new AsyncLocalStorage<Payload>()
  hq.server.prepend((ctx, next) => running.run(ctx.payload, next))
  hq.client.use((payload, next) => {
    const from = running.getStore()
    for (const field of Object.keys(from ?? {})) {
      if (CARRIED.test(field) && !Object.hasOwn(payload, field)) payload[field] = from?.[field]
    }
    return next()
  })
}

/**
 * Returns the attributes that came with a job, as an object. Sidekiq 8 writes them as ActiveJob writes the pairs of a hash,
 * 7 and 6 as plain JSON. With several CurrentAttributes classes the others are in the fields `cattr_1`, `cattr_2`, …
 */
export function currentAttributes(payload: Payload, field = 'cattr'): Record<string, unknown> {
  const given = payload[field]
  if (typeof given !== 'object' || given === null) return {}
  const [plain] = decode([given], () => {}) as [object]
  if (!Array.isArray(plain)) return plain as Record<string, unknown>
  return Object.fromEntries(plain.filter((pair) => Array.isArray(pair)).map(([name, value]) => [String(name), value]))
}
