/** Applies the effects of one operation on jobs themselves: everything but the events of rows, and the records of job events. */

import type { Effect } from '../../contract.ts'
import { changeBatches } from '../queues/batches.ts'
import { clearCancellations } from '../queues/cancellations.ts'
import { changeRun } from '../queues/cron-runs.ts'
import { changeIterations } from '../queues/iterations.ts'
import { awaitLimits, releaseSlots } from '../queues/limits.ts'
import { changeUnique } from '../queues/unique.ts'
import { columns } from '../server/columns.ts'
import type { Database } from '../server/database.ts'
import { sql } from '../sql.generated.ts'

export type JobEffect = Exclude<Effect, { kind: 'event' | 'record' }>

/** Applies effects, those of each kind together and in their order. */
export async function applyJobEffects(db: Database, effects: readonly JobEffect[], now: number): Promise<void> {
  const kinds = new Map<JobEffect['kind'], JobEffect[]>()
  for (const effect of effects) {
    const some = kinds.get(effect.kind)
    if (some) some.push(effect)
    else kinds.set(effect.kind, [effect])
  }
  const apply = async <Kind extends JobEffect['kind']>(
    kind: Kind,
    work: (some: Extract<JobEffect, { kind: Kind }>[]) => Promise<unknown>,
  ) => {
    const some = kinds.get(kind)
    if (some) await work(some as Extract<JobEffect, { kind: Kind }>[])
  }
  const unique = effects.filter(({ kind }) => kind === 'release-unique' || kind === 'keep-unique')
  if (unique.length > 0)
    await changeUnique(db, unique as Extract<JobEffect, { kind: 'release-unique' | 'keep-unique' }>[], now)
  await apply('release-lock', (some) => {
    const values = columns(
      some,
      ({ lock }) => lock,
      ({ holder }) => holder,
    )
    return db.run(sql.lock.release, ...values)
  })
  await apply('delete-result', (some) =>
    db.run(
      sql.result.delete,
      some.map(({ jid }) => jid),
    ),
  )
  await apply('release-slot', (some) => releaseSlots(db, some))
  await apply('await-limit', (some) => awaitLimits(db, some))
  await apply('clear-cancellation', (some) => clearCancellations(db, some))
  await apply('iteration', (some) => changeIterations(db, some, now))
  await apply('cron-run', async (some) => {
    for (const effect of some) await changeRun(db, effect)
  })
  // A batch may push jobs, which need their locks.
  await apply('batch', (some) => changeBatches(db, some, now))
}
