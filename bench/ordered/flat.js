// Whether a step costs the same with a thousand ids waiting and with a million, and with many payloads of one id.
import { appOn, seconds } from '../app.js'

const [, , url] = process.argv
const STEPS = 5000
const hq = appOn(url)
const figures = {}
const DUE = 4_000_000_000
let tell = () => {}

for (const waiting of [1000, 100_000, 1_000_000]) {
  const Queue = hq.ordered(`Queue${waiting}`, { shards: 5 }, async (_ctx, batch) => tell(batch.size))
  for (let from = 0; from < waiting; from += 50_000) {
    const some = Math.min(50_000, waiting - from)
    await Queue.performAsync(Array.from({ length: some }, (_, n) => ({ id: `late ${from + n}`, performIn: DUE })))
  }
  figures[`${STEPS} steps beside ${waiting} waiting ids, s`] = await steps(Queue, (n) => ({ id: n }))
}
const Deep = hq.ordered('Deep', { shards: 5 }, async (_ctx, batch) => {
  for (const payloads of batch.values()) tell(payloads.length)
})
for (const payloads of [1000, 100_000]) {
  const s = await seconds(async () => {
    await Deep.performAsync(Array.from({ length: payloads }, (_, n) => ({ id: 1, payload: n, score: n })))
    await work(payloads)
  })
  figures[`${payloads} payloads of one id: µs each`] = Number(((s / payloads) * 1e6).toFixed(1))
}
console.log(JSON.stringify(figures))
process.exit()

function steps(queue, of) {
  return seconds(async () => {
    await queue.performAsync(Array.from({ length: STEPS }, (_, n) => of(n)))
    await work(STEPS)
  })
}

async function work(wanted) {
  let done = 0
  const ended = new Promise((resolve) => {
    tell = (n) => {
      done += n
      if (done >= wanted) resolve()
    }
  })
  const worker = hq.worker({ concurrency: 1, orderedConcurrency: 5 })
  await worker.start()
  await ended
  await worker.stop()
}
