/** The limits of a fetched job. */

import { seconds } from '../../job/duration.ts'
import { type LimitRule, limitRules, nameFor } from '../../job/limit.ts'
import type { Limit } from '../../store/contract.ts'
import type { Engine } from '../engine.ts'
import type { Attempt } from './attempt.ts'

/** Returns the limits of a job. @throws INVALID_OPTION when `by` returns no key; what `by` throws */
export function limitsOf(
  { sharedLimits }: Pick<Engine, 'sharedLimits'>,
  { definition, payload, ctx }: Pick<Attempt, 'definition' | 'payload' | 'ctx'>,
): Limit[] {
  const own = definition?.options.limit
  const name = definition?.name ?? payload.class
  const rules = sharedLimits.of(name, ctx.queue, own ? limitRules(name, own) : [])
  return rules.map((rule) => limitFor(rule, () => rule.options.by?.(...payload.args)))
}

/** Returns a limit as the store knows it. `key` is called if the limit has keys. */
export function limitFor(rule: LimitRule, key: () => unknown): Limit {
  const { concurrency = 0, rate = 0, per = 0, burst = 1, window = 'smooth' } = rule.options
  return {
    name: nameFor(rule, key),
    max: concurrency,
    count: rate,
    per: Math.round(seconds(per) * 1000),
    burst,
    window,
  }
}
