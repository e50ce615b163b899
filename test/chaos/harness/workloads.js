// The workloads of `npm run chaos`, and how its jobs are spread over them. (Plain JavaScript, because the processes that run
// the jobs import it, too.)

/** How many of each 100 jobs belong to a workload. */
export const SHARES = {
  plain: 30,
  scheduled: 10,
  retrying: 10,
  tracked: 15,
  ordered: 10,
  unique: 5,
  limits: 5,
  batches: 10,
  flows: 5,
}

export const NAMES = Object.keys(SHARES)

/** Versions that each id of a chunk of an ordered queue gets, one push after the other. */
export const VERSIONS = 5

/** The jobs of a batch, and of a flow: the first is its root. */
export const BATCH_SIZE = 10

const UNIQUE_KEYS = 7
const LIMITED_KEYS = 3
/** The most jobs of a key of `limits` that run at a time. */
export const LIMIT = 2

const TRACKED_KINDS = { 0: 'once', 1: 'refused', 2: 'killed', 3: 'discarded' }

/**
 * Cuts jobs with the numbers 0, 1, … into chunks that one pusher pushes. The workloads alternate.
 *
 * @param {number} jobs
 * @param {readonly string[]} names
 * @param {number} [size] of a chunk
 * @returns {{ workload: string, from: number, count: number }[]}
 */
export function chunksOf(jobs, names, size = Math.min(Math.max(Math.ceil(jobs / 4000) * BATCH_SIZE, BATCH_SIZE), 200)) {
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
  if (workload === 'batches') return n % 40 === 7 ? 'broken' : n % BATCH_SIZE === 3 ? 'once' : 'fine'
  if (workload === 'tracked') return TRACKED_KINDS[n % 20] ?? 'fine'
  return 'fine'
}

/** Returns what the jobs have in common of which only some may run at a time, or in an order. Its first word is the workload. */
export function groupOf(workload, n) {
  if (workload === 'unique') return `unique:${n % UNIQUE_KEYS}`
  if (workload === 'limits') return `limits:${n % LIMITED_KEYS}`
  return `${workload}:${n - (n % BATCH_SIZE)}`
}
