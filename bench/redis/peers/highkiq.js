import { Highkiq } from 'highkiq'

const silent = { debug() {}, info() {}, warn() {}, error: console.error, child: () => silent }

function open(url, handler) {
  const hq = new Highkiq({ url, logger: silent })
  return { hq, job: hq.job('Noop', async (_ctx, ...args) => handler(args)) }
}

export function producer(url) {
  const { hq, job } = open(url, () => {})
  return {
    add: (args) => job.performAsync(...args),
    addBulk: (rows) => job.performBulk(rows),
    close: () => hq.close(),
  }
}

export async function worker(url, concurrency, handler) {
  const { hq } = open(url, handler)
  await hq.worker({ concurrency }).start()
  return { close: () => hq.close() }
}
