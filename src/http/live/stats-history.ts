/** The samples that this server took while clients asked: the last hour, in memory. */

/** Totals at one moment. */
export interface Sample {
  /** Milliseconds. */
  at: number
  processed: number
  failed: number
}

export interface Finished {
  finished: number
  failed: number
}

/** Milliseconds between two samples. */
export const STEP_MS = 10_000
const KEPT_MS = 3_600_000
/** Samples that are further apart leave a gap. */
const GAP_MS = 2.5 * STEP_MS

export class StatsHistory {
  #samples: Sample[] = []
  /** The newest sample. It is replaced until it is one step away from the sample before. */
  #newest: Sample | undefined

  add(sample: Sample): void {
    // After the clock was set back, the samples before that have no place in time.
    if (this.#newest && sample.at < this.#newest.at) this.#samples = []
    const last = this.#samples.at(-1)
    this.#newest = sample
    // A timer may come a little early.
    if (last && sample.at - last.at < STEP_MS * 0.9) return
    this.#samples.push(sample)
    const first = this.#samples.findIndex(({ at }) => at >= sample.at - KEPT_MS)
    if (first > 0) this.#samples = this.#samples.slice(first)
  }

  /** Returns the runs that ended between two times; undefined when there is a gap between them. */
  between(from: number, to: number): Finished | undefined {
    const [first, last] = [this.#totalsAt(from), this.#totalsAt(to)]
    if (!first || !last) return undefined
    const seen = this.#all.filter(({ at }) => at >= from - GAP_MS && at <= to + GAP_MS)
    const isWhole = seen.every((sample, i) => i === 0 || sample.at - (seen[i - 1] as Sample).at <= GAP_MS)
    return isWhole ? finishedBetween(first, last) : undefined
  }

  /** Returns the runs per second over the last step, or over the known part of it. */
  rates(): Finished {
    const newest = this.#newest
    const since = newest && this.#samples.findLast(({ at }) => newest.at - at >= STEP_MS && newest.at - at <= GAP_MS)
    const first = since ?? this.#samples.find(({ at }) => newest && newest.at - at < STEP_MS)
    if (!newest || !first || newest.at <= first.at) return { finished: 0, failed: 0 }
    const seconds = (newest.at - first.at) / 1000
    const { finished, failed } = finishedBetween(first, newest)
    return { finished: finished / seconds, failed: failed / seconds }
  }

  get #all(): Sample[] {
    const last = this.#samples.at(-1)
    return this.#newest && this.#newest !== last ? [...this.#samples, this.#newest] : this.#samples
  }

  /** Interpolates between two samples. */
  #totalsAt(time: number): Pick<Sample, 'processed' | 'failed'> | undefined {
    const all = this.#all
    const i = all.findIndex(({ at }) => at >= time)
    const [before, after] = [all[i - 1], all[i]]
    if (after?.at === time) return after
    if (!before || !after || after.at - before.at > GAP_MS) return undefined
    const share = (time - before.at) / (after.at - before.at)
    const between = (of: 'processed' | 'failed') => before[of] + (after[of] - before[of]) * share
    return { processed: between('processed'), failed: between('failed') }
  }
}

type Totals = Pick<Sample, 'processed' | 'failed'>

/** Returns zeros when the totals were reset in between. */
function finishedBetween(first: Totals, last: Totals): Finished {
  const failed = last.failed - first.failed
  const finished = last.processed - first.processed - failed
  return finished >= 0 && failed >= 0 ? { finished, failed } : { finished: 0, failed: 0 }
}
