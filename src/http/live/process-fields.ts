/** A process as the API shows it. */

import type { Process } from '../../index.ts'
import { timeOf } from '../schemas/times.ts'

export function processOf(process: Process, now: number) {
  const { identity, hostname, pid, tag, labels, queues, definedQueues, version, ours, embedded } = process
  const { busy, concurrency, orderedConcurrency, capsules, rss, isQuiet, leader, startedAt, beat } = process
  return {
    identity,
    hostname,
    pid,
    tag,
    labels,
    queues,
    definedQueues,
    version,
    ours,
    embedded,
    busy,
    concurrency,
    orderedConcurrency,
    capsules: Object.entries(capsules).map(([name, { concurrency }]) => ({ name, concurrency })),
    rss,
    quiet: isQuiet,
    leader,
    startedAt: timeOf(startedAt),
    beat: timeOf(beat),
    state: process.stateAt(now),
  }
}
