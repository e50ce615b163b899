// Who is measured, what is measured, and in which order.
import { runChild, startChild } from './children.js'

export const PEERS = ['highkiq', 'bullmq', 'raw']
export const CONCURRENCY = 50
/** Jobs that are not counted: V8 compiles meanwhile. The same for everybody. */
export const WARMUP = 20_000
const PULSES = { jobs: 400, warmup: 100 }

const options = (server, jobs) => ({ url: server.url, jobs, warmup: WARMUP, concurrency: CONCURRENCY })

export const MEASURES = {
  async process(peer, server, jobs, more = {}) {
    await runChild(peer, 'fill', options(server, jobs))
    return runChild(peer, 'work', { ...options(server, jobs), ...more })
  },
  waves: (peer, server, jobs) => runChild(peer, 'waves', options(server, jobs)),
  bulk: (peer, server, jobs) => runChild(peer, 'bulk', options(server, jobs)),
  async latency(peer, server) {
    const pulses = { ...options(server), ...PULSES }
    const worker = startChild(peer, 'listen', pulses)
    await worker.ready
    await runChild(peer, 'pulse', pulses)
    return worker.figures
  },
}

/** @returns measure → figure → peer → one number a round */
export async function runRounds(server, { rounds, jobs, peers, measures }) {
  const all = {}
  for (let round = 0; round < rounds; round++) {
    // Every other round the other way round, so that nobody always comes after the same one.
    const order = round % 2 === 0 ? peers : peers.toReversed()
    for (const measure of measures) {
      for (const peer of order) {
        await server.flush()
        const { profile: _, ...figures } = await MEASURES[measure](peer, server, jobs)
        for (const [figure, value] of Object.entries(figures)) {
          all[measure] ??= {}
          all[measure][figure] ??= {}
          all[measure][figure][peer] ??= []
          all[measure][figure][peer].push(value)
        }
        process.stderr.write(`round ${round + 1}/${rounds}  ${measure}  ${peer}  ${shortly(figures)}\n`)
      }
    }
  }
  return all
}

const shortly = (figures) =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toPrecision(4)}`)
    .join(', ')
