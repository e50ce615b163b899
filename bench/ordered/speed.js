// The same number of blank jobs, unordered and ordered, pushed and worked off; then many payloads of few ids.
import { Redis } from 'ioredis'
import { appOn, seconds } from '../app.js'

const [, , url, count] = process.argv
const ROWS = Number(count)
const hq = appOn(url)
let done = 0
let wanted = 0
let reached = () => {}
const tell = (n) => {
  done += n
  if (done >= wanted) reached()
}
const all = (n) => {
  done = 0
  wanted = n
  return new Promise((resolve) => {
    reached = resolve
  })
}
const Blank = hq.job('Blank', { retry: 0 }, async () => tell(1))
const One = hq.ordered('One', { shards: 5, batchSize: 1 }, async (_ctx, batch) => tell(batch.size))
const Fifty = hq.ordered('Fifty', { shards: 5, batchSize: 50 }, async (_ctx, batch) => tell(batch.size))
const Piled = hq.ordered('Piled', { shards: 5, batchSize: 50 }, async (_ctx, batch) => {
  let n = 0
  for (const payloads of batch.values()) n += payloads.length
  tell(n)
})

const redis = url.startsWith('redis') ? new Redis(url) : undefined
const figures = {}

/** Seconds from a standing start: all of it waits when the worker begins. */
async function worked(name, push) {
  const before = await cpu()
  let pushed = 0
  figures[`${name} s`] = await seconds(async () => {
    pushed = await seconds(push)
    const ended = all(ROWS)
    const worker = hq.worker({ concurrency: 50, orderedConcurrency: 5 })
    await worker.start()
    await ended
    await worker.stop()
  })
  figures[`${name}: of which pushing s`] = pushed
  if (redis) figures[`${name}: Redis CPU, µs each`] = Number((((await cpu()) - before) / ROWS).toFixed(1))
  return figures[`${name} s`]
}

async function cpu() {
  if (!redis) return 0
  const text = await redis.info('cpu')
  const of = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(text)[1])
  return (of('used_cpu_user') + of('used_cpu_sys')) * 1e6
}

const turns = countTurns()
const unordered = await worked('unordered', () => Blank.performBulk(range(ROWS, (n) => [n])))
const one = await worked('batch of 1 (aim 3)', () => One.performAsync([...range(ROWS, (n) => ({ id: n }))]))
figures['batch of 1 / unordered (aim 3)'] = Number((one / unordered).toFixed(2))
figures['round trips a batch of 1 (aim 1)'] = Number((turns.draw() / ROWS).toFixed(3))
await worked('batch of 50 (aim 0.8)', () => Fifty.performAsync([...range(ROWS, (n) => ({ id: n }))]))
const piled = await worked('1/100 of the ids, 100 payloads each', () =>
  Piled.performAsync([...range(ROWS, (n) => ({ id: n % (ROWS / 100), payload: n, score: n }))]),
)
figures['unordered / piled up (aim 1)'] = Number((unordered / piled).toFixed(2))
redis?.disconnect()
console.log(JSON.stringify(figures))
process.exit()

function* range(n, of) {
  for (let i = 0; i < n; i++) yield of(i)
}

function countTurns() {
  const { store } = hq
  const turn = store.ordered.settleAndFetch.bind(store.ordered)
  let n = 0
  store.ordered.settleAndFetch = (...about) => {
    n++
    return turn(...about)
  }
  return {
    draw() {
      const was = n
      n = 0
      return was
    },
  }
}
