// Figures of the engine, on each driver that this Node has: pushes, no-op jobs, tracked against untracked, latency.
// Rounds are interleaved, for machines drift; compare within one run only.
//   node bench/engine.js [--jobs 20000] [--rounds 3]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Highkiq } from 'highkiq'

const { values } = parseArgs({
  options: { jobs: { type: 'string', default: '20000' }, rounds: { type: 'string', default: '3' } },
})
const JOBS = Number(values.jobs)
const ROUNDS = Number(values.rounds)
const CONCURRENCY = 50

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }
const [major, minor] = process.versions.node.split('.').map(Number)
const drivers = major > 22 || (major === 22 && minor >= 13) ? ['node', 'libsql'] : ['libsql']
const stores = drivers.flatMap((driver) =>
  ['full', 'normal'].map((synchronous) => `driver=${driver}&synchronous=${synchronous}`),
)

const perSecond = (n, began) => Math.round((n / (performance.now() - began)) * 1000)

async function until(condition) {
  while (!condition()) await new Promise((resume) => setTimeout(resume, 1))
}

async function round(options) {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-bench-'))
  const hq = new Highkiq({ url: `sqlite:${folder}/bench.db?${options}`, logger: silent })
  let done = 0
  const arrivals = []
  const Noop = hq.job('Noop', async () => {
    done++
  })
  const Echo = hq.job('Echo', async (_ctx, sent) => {
    arrivals.push(performance.now() - sent)
  })
  const figures = {}
  const rows = () => Array.from({ length: JOBS }, () => [123, 'abc'])

  let began = performance.now()
  for (let i = 0; i < JOBS; i += 1000)
    await Promise.all(Array.from({ length: 1000 }, () => Noop.performAsync(123, 'abc')))
  figures['enqueue, waves of 1,000 /s'] = perSecond(JOBS, began)
  began = performance.now()
  await Noop.performBulk(rows())
  figures['enqueue, bulk /s'] = perSecond(JOBS, began)

  const worker = hq.worker({ concurrency: CONCURRENCY })
  began = performance.now()
  await worker.start()
  await until(() => done === 2 * JOBS)
  figures['no-op jobs /s'] = perSecond(2 * JOBS, began)

  done = 0
  began = performance.now()
  await Noop.performBulk(rows())
  await until(() => done === JOBS)
  figures['untracked, pushed and done /s'] = perSecond(JOBS, began)
  began = performance.now()
  const task = await hq.tasks.create(Noop, rows())
  await task.wait({ every: 5 })
  figures['tracked, added and done /s'] = perSecond(JOBS, began)

  for (let i = 0; i < 200; i++) {
    await Echo.performAsync(performance.now())
    await new Promise((resume) => setTimeout(resume, 3))
  }
  await until(() => arrivals.length === 200)
  arrivals.sort((a, b) => a - b)
  figures['idle latency p50 ms'] = Number(arrivals[100].toFixed(2))
  figures['idle latency p99 ms'] = Number(arrivals[197].toFixed(2))
  await hq.close()
  rmSync(folder, { recursive: true, force: true })
  return figures
}

const results = new Map(stores.map((store) => [store, []]))
for (let i = 0; i < ROUNDS; i++) for (const store of stores) results.get(store).push(await round(store))

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]
const table = {}
for (const [store, rounds] of results) {
  for (const name of Object.keys(rounds[0])) {
    table[name] ??= {}
    table[name][store.replaceAll(/driver=|synchronous=/g, '').replace('&', ' ')] = median(
      rounds.map((one) => one[name]),
    )
  }
}
console.log(
  `Node ${process.versions.node}, ${JOBS} jobs, concurrency ${CONCURRENCY}, median of ${ROUNDS} interleaved rounds`,
)
console.table(table)
