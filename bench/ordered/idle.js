// How long a push takes to its handler when nothing else is to be done: ordered against unordered.
import { appOn } from '../app.js'

const [, , url] = process.argv
const TIMES = 300
const hq = appOn(url)
let heard = () => {}
const Job = hq.job('Job', { retry: 0 }, async () => heard(performance.now()))
const Queue = hq.ordered('Queue', { shards: 5 }, async () => heard(performance.now()))
await hq.worker({ concurrency: 5 }).start()

const ways = { unordered: () => Job.performAsync(), ordered: (n) => Queue.performAsync([{ id: n }]) }
const took = { unordered: [], ordered: [] }
for (let n = 0; n < TIMES; n++) {
  for (const [way, push] of Object.entries(ways)) {
    const began = performance.now()
    const ended = new Promise((resolve) => {
      heard = resolve
    })
    await push(n)
    const ms = (await ended) - began
    if (n >= 20) took[way].push(ms)
    await new Promise((resume) => setTimeout(resume, 5))
  }
}
const at = (list, share) => list.sort((a, b) => a - b)[Math.floor(list.length * share)]
const figures = {}
for (const [way, list] of Object.entries(took)) {
  figures[`idle, ${way}: p50 ms`] = Number(at(list, 0.5).toFixed(2))
  figures[`idle, ${way}: p99 ms`] = Number(at(list, 0.99).toFixed(2))
}
figures['idle p50: ordered / unordered (aim 1.5)'] = Number(
  (at(took.ordered, 0.5) / at(took.unordered, 0.5)).toFixed(2),
)
console.log(JSON.stringify(figures))
process.exit()
