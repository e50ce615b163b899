// The workloads of `npm run chaos`, and how its jobs are spread over them. (Plain JavaScript, because the processes that run
// the jobs import it, too.)

/** How many of each 20 jobs belong to a workload. */
export const SHARES = { plain: 8, scheduled: 2, retrying: 3, tracked: 4, ordered: 3 }

export const NAMES = Object.keys(SHARES)

/** Versions that each id of a chunk of the ordered queue gets, one push after the other. */
export const VERSIONS = 10

const TRACKED_KINDS = { 0: 'once', 1: 'refused', 2: 'killed', 3: 'discarded' }

/**
 * Cuts jobs with the numbers 0, 1, … into chunks that one pusher pushes. The workloads alternate.
 *
 * @param {number} jobs
 * @param {readonly string[]} names
 * @returns {{ workload: string, from: number, count: number }[]}
 */
export function chunksOf(jobs, names) {
  const size = Math.min(Math.max(Math.ceil(jobs / 4000) * VERSIONS, VERSIONS), 200)
  const given = new Map(names.map((name) => [name, 0]))
  const nextWorkload = () => {
    const behind = (name) => (given.get(name) + 1) / SHARES[name]
    const name = names.reduce((least, one) => (behind(one) < behind(least) ? one : least))
    given.set(name, given.get(name) + 1)
    return name
  }
  const chunks = []
  for (let from = 0; from < jobs; from += size) {
    chunks.push({ workload: nextWorkload(), from, count: Math.min(size, jobs - from) })
  }
  return chunks
}

/** Returns what a job leaves behind: a name of `KINDS`. */
export function kindOf(workload, n) {
  if (workload === 'retrying') return n % 20 === 3 ? 'broken' : 'once'
  if (workload === 'tracked') return TRACKED_KINDS[n % 20] ?? 'fine'
  return 'fine'
}
