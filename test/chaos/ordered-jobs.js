// The app of a chaos test of ordered queues: each call notes when it began and ended, so that this survives a SIGKILL.
import { setTimeout as sleep } from 'node:timers/promises'
import { BatchFailure, Highkiq } from 'highkiq'
import { notesOf } from './jobs.js'

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

/** On a clock that all processes of this machine share. */
export const now = () => Number(process.hrtime.bigint() / 1000n)

export function orderedApp(url, folder) {
  const hq = new Highkiq({ url, logger: silent })
  const note = notesOf(folder)
  return { hq, Chaos: defineOrdered(hq, note, 'Chaos', { shards: 5, maxRetries: 2, poison: 499 }) }
}

/** Defines a queue whose calls note when they began and ended. Of `poison` payloads one always fails, with all beside it. */
export function defineOrdered(hq, note, name, { poison, ...more }) {
  let calls = 0
  // The same id may crash again and again.
  const options = { batchSize: 4, retryIn: () => 0.05, maxCrashes: 1_000_000, morgueMax: 1_000_000, ...more }
  return hq.ordered(name, options, async (_ctx, batch) => {
    const call = ++calls
    // One time for all: the process may be frozen between two notes.
    const began = now()
    for (const [id, payloads] of batch) {
      note(`begin ${call} ${id} ${began} ${payloads.map(({ n, score }) => `${n}:${score}`).join(',')}`)
    }
    // Shards are handed over, and processes killed, while some ids run.
    await sleep(call % 5 === 0 ? 50 : 2)
    const failures = new Map()
    for (const [id, payloads] of batch) {
      const fails = payloads.some(({ n }) => n % poison === 3)
      if (fails) failures.set(id, new Error('poison'))
      note(`${fails ? 'failed' : 'done'} ${call} ${id} ${now()}`)
    }
    if (failures.size > 0) throw new BatchFailure(failures)
  })
}
