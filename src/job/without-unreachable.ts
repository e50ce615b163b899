/** Reads without the shards that can't be reached, and the errors of such shards. */

import { isUnreachable } from './errors.ts'

/** Runs a read. Its lists and figures leave out what is on shards that can't be reached. */
export function withoutUnreachable<T>(store: { withoutUnreachable?<T>(read: () => T): T }, read: () => T): T {
  return store.withoutUnreachable ? store.withoutUnreachable(read) : read()
}

/** Whether an error comes from a shard that can't be reached, while others may answer. */
export function isFromLostShard(
  thrown: unknown,
  { unreachableShards = [] }: { unreachableShards?: readonly string[] },
): boolean {
  return isUnreachable(thrown) && unreachableShards.length > 0
}
