// Runs a plan in interleaved rounds: in each round every workload runs once with every peer, one after the other.
import { endAll, startRole } from './process.js'
import { fits, partOf } from './registry.js'
import { share } from './scenarios.js'
import { openStores } from './stores.js'

/** A round begins only if it would end before this, were it as long as the longest one. */
const LIMIT_MS = { quick: 225_000, whole: 5_400_000, deep: Number.POSITIVE_INFINITY }

/** @returns {{ workload: any, peers: any[] }[]} the workloads that are asked for, each with its peers */
export function planOf(groups, peers, options, ratios) {
  const wanted = (name, group) =>
    options.only === undefined || options.only.includes(name) || options.only.includes(group)
  const needed = new Set(Object.values(ratios).flatMap(({ of, to }) => [of.join(), to.join()]))
  return groups
    .flatMap((group) => group.workloads.filter(({ name }) => wanted(name, group.name)))
    .filter(({ deep, named }) => (!deep || options.deep) && (!named || options.only))
    .map((workload) => ({
      workload,
      peers: peers.filter(
        (peer) => fits(workload, peer) && (!options.quick || needed.has([workload.name, peer.name].join())),
      ),
    }))
    .filter(({ peers }) => peers.length > 0)
}

/** @returns `cells`: workload → peer → the figures of each round; `failures`: a text for each measurement that failed */
export async function runPlan(plan, { rounds, jobs, warmup, quick, deep }) {
  const cells = {}
  const failures = []
  const failed = new Set()
  const stores = openStores()
  const began = performance.now()
  const limit = LIMIT_MS[quick ? 'quick' : deep ? 'deep' : 'whole']
  let round = 0
  let longest = 0
  try {
    while (round < rounds) {
      const startedAt = performance.now()
      for (const { workload, peers } of plan) {
        if (round >= (workload.rounds ?? rounds)) continue
        // Every other round goes the other way round, so that no peer always follows the same one.
        for (const peer of round % 2 === 0 ? peers : peers.toReversed()) {
          const title = `${workload.name}, ${peer.name}`
          if (failed.has(title)) continue
          const { folder } = stores
          let store
          try {
            store = await stores.fresh(peer, workload.shards)
            const start = (role, options) => startRole(peer, role, { url: store.url, ...options })
            const figures = await workload.measure({
              peer,
              store,
              start,
              folder,
              ...share({ jobs, warmup }, partOf(workload, peer)),
            })
            cells[workload.name] ??= {}
            cells[workload.name][peer.name] ??= []
            cells[workload.name][peer.name].push(figures)
            process.stderr.write(`round ${round + 1}/${rounds}  ${title}: ${shortly(figures)}\n`)
          } catch (error) {
            endAll()
            failed.add(title)
            failures.push(`${title}: ${error.message.split('\n').slice(0, 2).filter(Boolean).join(' ')}`)
            process.stderr.write(`round ${round + 1}/${rounds}  ${title} FAILED: ${error.stack}\n`)
          }
          await store?.close()
        }
      }
      round++
      longest = Math.max(longest, performance.now() - startedAt)
      if (performance.now() - began + longest > limit) break
    }
  } finally {
    endAll()
    await stores.close()
  }
  return { cells, failures, rounds: round, seconds: Math.round((performance.now() - began) / 1000) }
}

const shortly = (figures) =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${value >= 10_000 ? Math.round(value) : value.toPrecision(3)}`)
    .join(', ')
