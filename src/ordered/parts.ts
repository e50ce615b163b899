/** The values that the parts of one ordered queue share, and the events that they emit to its runner. */

import type { Engine } from '../worker/engine.ts'
import type { WorkerHandle } from '../worker/executor.ts'
import type { OrderedDeath, OrderedDefinition } from './definition.ts'
import type { Shard } from './shard.ts'
import type { ShardPlan } from './shard-assignments.ts'

export interface QueueParts {
  engine: Engine
  definition: OrderedDefinition
  worker: WorkerHandle
  plan: ShardPlan
  pollMs: number
  leaseMs: number
}

export type QueueEvent =
  | { kind: 'acquired'; shard: Shard }
  /** The shard is about to be handed over: no new batch of it starts, and ids that have not started are requeued. */
  | { kind: 'leaving'; shard: Shard }
  /** This process no longer owns the shard. */
  | { kind: 'lost'; shard: Shard }
  /** This process owns its share of the shards, except those that the store refuses. */
  | { kind: 'assigned'; isResharding: boolean }
  /** A shard was lost, the number of shards has changed, or a notification brought no ids. */
  | { kind: 'assignments-changed' }
  /** Ids were fetched and can run. */
  | { kind: 'fetched' }
  /** A call for these shards has ended. */
  | { kind: 'settled'; shards: readonly Shard[] }
  /** There is nothing to settle or to fetch. */
  | { kind: 'idle' }
  | { kind: 'died'; deaths: OrderedDeath[] }
