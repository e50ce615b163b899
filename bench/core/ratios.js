// The ratios that `--quick` prints and `--check` compares: Highkiq by a peer, raw commands, or itself. Each is the median of
// the rounds' own ratios, whose two sides ran within seconds of each other.
import { figureOf } from './figures.js'
import { halfSpread, summarize } from './statistics.js'

/** A difference below this is never reported; fewer than three rounds say little about their spread. */
const LEAST_TOLERANCE = { few: 0.25, many: 0.05 }

const against = (workload, figure, ours, theirs) => ({ figure, of: [workload, ours], to: [workload, theirs] })
const within = (peer, figure, of, to) => ({ figure, of: [of, peer], to: [to, peer] })

/** Above this tolerance a ratio is `noisy`: it can't show that something got worse. */
const MOST_TOLERANCE = 0.35

/** @param driver the SQLite driver that Highkiq takes by default on this Node */
export function ratiosOf(driver) {
  const sqlite = `highkiq-${driver}`
  return {
    'process.noop.redis/bullmq': against('process.noop', 'rate', 'highkiq-redis', 'bullmq'),
    'process.noop.redis/floor': against('process.noop', 'rate', 'highkiq-redis', 'raw-redis'),
    'process.noop.sqlite/floor': against('process.noop', 'rate', sqlite, `raw-${driver}`),
    'process.noop.postgres/pg-boss': against('process.noop', 'rate', 'highkiq-postgres', 'pg-boss'),
    'process.noop.postgres/graphile-worker': against('process.noop', 'rate', 'highkiq-postgres', 'graphile-worker'),
    'enqueue.bulk.redis/bullmq': against('enqueue.bulk', 'rate', 'highkiq-redis', 'bullmq'),
    'latency.p50.redis/raw': against('latency.idle', 'p50', 'highkiq-redis', 'raw-redis'),
    'tracked/untracked.redis': within('highkiq-redis', 'seconds', 'tracked.tracked', 'tracked.untracked'),
    'tracked/untracked.sqlite': within(sqlite, 'seconds', 'tracked.tracked', 'tracked.untracked'),
    'ordered/unordered.redis': within('highkiq-redis', 'seconds', 'ordered.one', 'ordered.unordered'),
    'ordered/unordered.sqlite': within(sqlite, 'seconds', 'ordered.one', 'ordered.unordered'),
    'cost.50-queues/1.redis': within('highkiq-redis', 'cost', 'queues.50', 'process.noop'),
    'cost.1e5-queued/1e3.redis': within('highkiq-redis', 'cost', 'depth.1e5', 'depth.1e3'),
  }
}

/** What the other workloads of a group cost beside its `base`, by peer. They are shown, and not compared with earlier runs. */
export function baseRatiosOf(groups, peers) {
  const beside = ({ base, workloads }) => {
    const others = base ? workloads.filter(({ name }) => name !== base) : []
    return others.flatMap(({ name }) =>
      peers.map((peer) => [`${name}.${peer.name}`, within(peer.name, 'cost', name, base)]),
    )
  }
  return Object.fromEntries(groups.flatMap(beside))
}

/**
 * @param cells workload → peer → figures of each round
 * @returns {Record<string, ReturnType<typeof summarize>>} the ratios whose two sides were measured
 */
export function computeRatios(ratios, cells) {
  const computed = {}
  for (const [name, { figure, of, to }] of Object.entries(ratios)) {
    const [above, below] = [of, to].map(([workload, peer]) =>
      cells[workload]?.[peer]?.map((round) => figureOf(round, figure)),
    )
    const rounds = Math.min(above?.length ?? 0, below?.length ?? 0)
    if (rounds > 0) computed[name] = summarize(Array.from({ length: rounds }, (_, i) => above[i] / below[i]))
  }
  return computed
}

/** The ratios whose two sides are in a plan. */
export function ratiosIn(plan, ratios) {
  const planned = new Set(plan.flatMap(({ workload, peers }) => peers.map(({ name }) => [workload.name, name].join())))
  const isPlanned = ([, { of, to }]) => planned.has(of.join()) && planned.has(to.join())
  return Object.fromEntries(Object.entries(ratios).filter(isPlanned))
}

/**
 * Compares `ratios` with the committed ones. A ratio that one of the two runs did not measure is `missing`. A ratio may
 * differ by half the spread of the committed rounds plus half the spread of the new ones (half of highest − lowest, as a
 * part of the median). At five rounds that is about three standard errors of the difference of two medians. The least
 * tolerance is 5%, or 25% when a side has fewer than three rounds; above 35% the ratio is `noisy`. A larger difference
 * than the tolerance is `worse` or `better`, depending on whether more or less of the figure is better.
 */
export function compareRatios(ratios, committed, now) {
  return Object.entries(ratios).map(([name, { figure }]) => {
    const before = committed[name]
    const after = now[name]
    if (!before || !after) return { name, before: before?.median, after: after?.median, verdict: 'missing' }
    const rounds = Math.min(before.rounds.length, after.rounds.length)
    const least = LEAST_TOLERANCE[rounds < 3 ? 'few' : 'many']
    const tolerance = Math.max(least, halfSpread(before) + halfSpread(after))
    const change = after.median / before.median - 1
    const gain = figure === 'rate' ? change : -change
    const isSame = Math.abs(change) <= tolerance
    const verdict = tolerance > MOST_TOLERANCE ? 'noisy' : isSame ? 'same' : gain > 0 ? 'better' : 'worse'
    return { name, before: before.median, after: after.median, change, tolerance, verdict }
  })
}
