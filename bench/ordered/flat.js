// Whether a step costs the same with a thousand ids waiting and with a million, and with many payloads of one id.
import { appOn, seconds } from '../app.js'

const [, , url] = process.argv
const STEPS = 5000
const hq = appOn(url)
const figures = {}
const DUE = 4_000_000_000
let tell = () => {}

// The first one is for warming up.
const queues = [0, 1000, 100_000, 1_000_000].map((waiting) => {
  const Queue = hq.ordered(`Queue${waiting}`, { shards: 5 }, async (_ctx, batch) => tell(batch.size))
  return { waiting, Queue }
})
const Deep = hq.ordered('Deep', { shards: 5 }, async (_ctx, batch) => {
  for (const payloads of batch.values()) tell(payloads.length)
})
for (const { waiting, Queue } of queues) {
  for (let from = 0; from < waiting; from += 50_000) {
    const some = Math.min(50_000, waiting - from)
    await Queue.performAsync(Array.from({ length: some }, (_, n) => ({ id: `late ${from + n}`, performIn: DUE })))
  }
  const s = await seconds(async () => {
    await Queue.performAsync(Array.from({ length: STEPS }, (_, n) => ({ id: n })))
    await work(STEPS)
  })
  if (waiting > 0) figures[`${STEPS} steps beside ${waiting} waiting ids, s`] = s
}
for (const payloads of [10_000, 100_000]) {
  const items = Array.from({ length: payloads }, (_, n) => ({ id: 1, payload: n, score: n }))
  const pushed = await seconds(() => Deep.performAsync(items))
  const each = (s) => Number(((s / payloads) * 1e6).toFixed(1))
  figures[`${payloads} payloads of one id: µs each to push`] = each(pushed)
  figures[`${payloads} payloads of one id: µs each to work off`] = each(await work(payloads))
}
console.log(JSON.stringify(figures))
process.exit()

/** @returns seconds from the first batch to the last one: what a start takes is not the question */
async function work(wanted) {
  let done = 0
  let first = 0
  const ended = new Promise((resolve) => {
    tell = (n) => {
      first ||= performance.now()
      done += n
      if (done >= wanted) resolve()
    }
  })
  const worker = hq.worker({ concurrency: 1, orderedConcurrency: 5 })
  await worker.start()
  await ended
  const took = (performance.now() - first) / 1000
  await worker.stop()
  return took
}
