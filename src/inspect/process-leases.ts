/** Finds the leases of a process among those of all processes. */

/** Returns the identity of the process that has a lease. The owner of a lease is that identity and the number of the lease. */
export function identityOf(owner: string): string {
  return owner.replace(/\.\d+$/, '')
}

/** Returns a function that returns the leases of a process. */
export function processLeases<Lease extends { owner: string }>(
  leases: readonly Lease[],
): (identity: string) => readonly Lease[] {
  const byIdentity = new Map<string, Lease[]>()
  for (const lease of leases) {
    const identity = identityOf(lease.owner)
    const known = byIdentity.get(identity)
    if (known) known.push(lease)
    else byIdentity.set(identity, [lease])
  }
  return (identity) => byIdentity.get(identity) ?? []
}
