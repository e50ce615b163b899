// One measurement, in a process of its own: node child.js PEER TASK OPTIONS. What is not counted warms both sides up.
import { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { costs, openMeter } from './meter.js'

const WAVE = 1000
const ARGS = [123, 'abc']
const ADD_EVERY_MS = 5

const [, , peerName, task, text] = process.argv
const { url, jobs, warmup, concurrency, profile } = JSON.parse(text)
const peer = await import(`./peers/${peerName}.js`)

const rows = (n) => Array.from({ length: n }, () => ARGS)
const now = () => Number(process.hrtime.bigint()) / 1e6

/** Adds by `add(n)`, a wave at a time. */
async function inWaves(total, add) {
  for (let i = 0; i < total; i += WAVE) await add(Math.min(WAVE, total - i))
}

async function enqueue(addOf) {
  const producer = peer.producer(url)
  const meter = openMeter(url)
  const add = addOf(producer)
  await inWaves(warmup, add)
  const memory = await meter.usedMemory()
  const before = await meter.read()
  await inWaves(jobs, add)
  const figures = costs(before, await meter.read(), jobs)
  const bytes = ((await meter.usedMemory()) - memory) / jobs
  await producer.close()
  meter.close()
  return { ...figures, 'Redis bytes/job': bytes }
}

const TASKS = {
  waves: () => enqueue((producer) => (n) => Promise.all(rows(n).map((args) => producer.add(args)))),

  bulk: () => enqueue((producer) => (n) => producer.addBulk(rows(n))),

  async fill() {
    const producer = peer.producer(url)
    await inWaves(warmup + jobs, (n) => producer.addBulk(rows(n)))
    await producer.close()
    return {}
  },

  /** Works off what `fill` left, until the last handler has begun. */
  async work() {
    const meter = openMeter(url)
    const session = new Session()
    session.connect()
    if (profile) {
      await session.post('Profiler.enable')
      await session.post('Profiler.setSamplingInterval', { interval: 200 })
    }
    let before
    let done = 0
    let finish
    const finished = new Promise((resolve) => {
      finish = resolve
    })
    const worker = await peer.worker(url, concurrency, () => {
      done++
      if (done === warmup) {
        if (profile) session.post('Profiler.start')
        before = meter.read()
      } else if (done === warmup + jobs) finish(meter.read())
    })
    const after = await finished
    const profiled = profile ? (await session.post('Profiler.stop')).profile : undefined
    const rss = process.memoryUsage().rss / 1e6
    await worker.close()
    meter.close()
    if (done !== warmup + jobs) throw new Error(`${done} of ${warmup + jobs} jobs ran`)
    return { ...costs(await before, after, jobs), 'worker RSS MB': rss, profile: profiled }
  },

  /** An idle worker, which says how long each job was on its way; jobs carry the time when they were added. */
  async listen() {
    const took = []
    let finish
    const finished = new Promise((resolve) => {
      finish = resolve
    })
    const worker = await peer.worker(url, concurrency, ([sent]) => {
      took.push(now() - sent)
      if (took.length === warmup + jobs) finish()
    })
    await sleep(500)
    process.send({ ready: true })
    await finished
    await worker.close()
    const sorted = took.slice(warmup).sort((a, b) => a - b)
    const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
    return { 'p50 ms': at(0.5), 'p95 ms': at(0.95), 'p99 ms': at(0.99) }
  },

  /** Adds one job after the other, for `listen`. */
  async pulse() {
    const producer = peer.producer(url)
    const adding = []
    const began = now()
    for (let i = 0; i < warmup + jobs; i++) {
      await sleep(Math.max(0, began + i * ADD_EVERY_MS - now()))
      adding.push(producer.add([now(), 'abc']))
    }
    await Promise.all(adding)
    await producer.close()
    return {}
  },
}

const figures = await TASKS[task]()
process.send({ figures }, () => process.disconnect())
