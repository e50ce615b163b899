import type { AppPort } from '../app/port.ts'
import type { Handler } from '../job/definition.ts'
import { Kill } from '../job/errors.ts'
import type { IterableContext, IterableJob } from './definition.ts'
import { Iteration } from './iteration.ts'

/** Returns the handler that runs an iterable job. */
export function iterableHandler<Args extends unknown[], Item, Cursor>(
  app: AppPort,
  job: IterableJob<Args, Item, Cursor>,
): Handler<Args, void> {
  const any = job as unknown as IterableJob<unknown[], unknown, unknown>
  return async (ctx, ...args) => {
    // Every item gets the same arguments.
    if (ctx.payload.hk_list) throw new Kill('an iterable job gets one row: make its task without rowsPerJob')
    const own = ctx as unknown as IterableContext & { iteration: Iteration }
    own.iteration = new Iteration(app, any, own, deepFreeze(args))
    await own.iteration.run()
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
