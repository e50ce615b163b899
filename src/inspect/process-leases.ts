/** Finds the leases of a process among those of all processes. */

/** Returns a function that returns the leases of a process: the names of their owners begin with its identity. */
export function processLeases<Lease extends { owner: string }>(
  leases: readonly Lease[],
): (identity: string) => Lease[] {
  const sorted = leases.toSorted((a, b) => (a.owner < b.owner ? -1 : 1))
  return (identity) => {
    let [first, end] = [0, sorted.length]
    while (first < end) {
      const middle = (first + end) >> 1
      if ((sorted[middle] as Lease).owner < identity) first = middle + 1
      else end = middle
    }
    while (sorted[end]?.owner.startsWith(identity)) end++
    return sorted.slice(first, end)
  }
}
