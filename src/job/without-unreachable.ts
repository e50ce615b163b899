/** Reads that go on while a shard can't be reached. */

/** Runs a read. Its lists and figures leave out what is on shards that can't be reached. */
export function withoutUnreachable<T>(store: { withoutUnreachable?<T>(read: () => T): T }, read: () => T): T {
  return store.withoutUnreachable ? store.withoutUnreachable(read) : read()
}
