// The app of a chaos test of ordered queues: each call notes when it began and ended, so that this survives a SIGKILL.
import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BatchFailure, Highkiq } from 'highkiq'

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }

/** On a clock that all processes of this machine share. */
export const now = () => Number(process.hrtime.bigint() / 1000n)

/** What always fails, with all that is handed over beside it. */
export const isPoison = (n) => n % 499 === 3

export function orderedApp(url, folder) {
  const hq = new Highkiq({ url, logger: silent })
  let log
  let calls = 0
  const note = (line) => {
    log ??= openSync(`${folder}/notes-${process.pid}.log`, 'a')
    writeSync(log, `${line}\n`)
  }
  // No end to stalls: the same id may be hit again and again.
  const options = { shards: 5, batchSize: 4, maxRetries: 2, retryIn: () => 0.05, maxCrashes: 1_000_000 }
  const Chaos = hq.ordered('Chaos', { ...options, morgueMax: 1_000_000 }, async (_ctx, batch) => {
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
      const fails = payloads.some(({ n }) => isPoison(n))
      if (fails) failures.set(id, new Error('poison'))
      note(`${fails ? 'failed' : 'done'} ${call} ${id} ${now()}`)
    }
    if (failures.size > 0) throw new BatchFailure(failures)
  })
  return { hq, Chaos }
}
