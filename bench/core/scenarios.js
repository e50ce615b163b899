// What workloads are made of: enqueue and drain, fill and process, send and wait. Each checks the effects of all jobs.
import { setTimeout as sleep } from 'node:timers/promises'
import { checkEffects } from './effects.js'
import { quantile } from './statistics.js'

const DEFAULTS = { payload: 100, queues: 1, concurrency: 50, processes: 1, handler: 'noop' }
/** An idle worker is measured this long after its start. */
const SETTLE_MS = 1000
/** With fewer jobs a p99 is that of a handful. */
const LEAST_FOR_P99 = 1000
/** A worker that ran no job for this long has lost the rest. */
const STALLED_MS = 30_000

/** A share of the jobs and of the warm-up, for slow workloads. */
export function share({ jobs, warmup }, part) {
  return { jobs: Math.round(jobs * part), warmup: Math.round(warmup * part) }
}

/** Measures how jobs are added, then lets a worker run them to count the effects. */
export async function measureEnqueue(bench, options) {
  const enqueued = await enqueue(bench, { ...DEFAULTS, ...options })
  await work(bench, { ...DEFAULTS, ...options })
  return enqueued
}

/** Fills the store, then measures how workers run the jobs. */
export async function measureProcess(bench, options) {
  const all = { ...DEFAULTS, ...options }
  const { bytes } = await enqueue(bench, { ...all, way: 'bulk' })
  return { ...(await work(bench, all)), ...(bytes && { bytes }) }
}

async function enqueue({ start, store }, options) {
  const { jobs, warmup } = options
  const producer = start('enqueue', options)
  await producer.ready()
  const redis = await store.cpuMicros?.()
  const bytes = await store.bytes?.()
  producer.go()
  const { seconds, cpu, memory } = await producer.figures()
  await producer.exited
  const all = jobs + warmup
  return {
    rate: jobs / seconds,
    client: cpu / jobs,
    ...(store.cpuMicros && { redis: ((await store.cpuMicros()) - redis) / all }),
    memory,
    ...(store.bytes && { bytes: ((await store.bytes()) - bytes) / all }),
  }
}

async function work(bench, options) {
  const { start, store } = bench
  const total = options.jobs + options.warmup
  const workers = Array.from({ length: options.processes }, () => start('work', { ...options, total }))
  await Promise.all(workers.map((worker) => worker.ready()))
  const redis = await store.cpuMicros?.()
  for (const worker of workers) worker.go()
  await allDone(workers, total)
  const redisUsed = store.cpuMicros && (await store.cpuMicros()) - redis
  const figures = await stopped(bench, workers, options, total)
  return { ...costs(figures, options), ...(store.cpuMicros && { redis: redisUsed / total }) }
}

/** Rate and CPU between the end of the warm-up and the last job, over all processes. */
function costs(figures, { jobs, warmup, processes }) {
  const marks = figures
    .flatMap(({ marks }) => marks.map(([at, done], i) => [at, done - (marks[i - 1]?.[1] ?? 0)]))
    .sort((a, b) => a[0] - b[0])
  let done = 0
  let start
  for (const [at, more] of marks) {
    done += more
    if (start === undefined && done >= warmup) start = { at, done }
  }
  const cpu = figures.reduce(
    (sum, { marks }) => {
      if (marks.length === 0) return sum
      const from = marks.find(([, count]) => count >= warmup / processes) ?? marks[0]
      const to = marks.at(-1)
      return { jobs: sum.jobs + to[1] - from[1], micros: sum.micros + to[2] - from[2] }
    },
    { jobs: 0, micros: 0 },
  )
  return {
    rate: (warmup + jobs - start.done) / ((marks.at(-1)[0] - start.at) / 1000),
    client: cpu.micros / cpu.jobs,
    memory: figures.reduce((sum, { memory }) => sum + memory, 0),
  }
}

async function allDone(workers, total) {
  let last = -1
  let since = performance.now()
  for (;;) {
    const done = workers.reduce((sum, worker) => sum + worker.done, 0)
    if (done >= total) return
    if (done !== last) {
      last = done
      since = performance.now()
    } else if (performance.now() - since > STALLED_MS) return
    await Promise.race([sleep(5), Promise.race(workers.map((worker) => worker.failed))])
  }
}

/** Stops the workers gracefully and checks that each job ran once and that none is left. */
export async function stopped({ peer, store }, workers, options, total) {
  const figures = await Promise.all(workers.map((worker) => worker.stop()))
  await Promise.all(workers.map((worker) => worker.exited))
  const queued = await peer.queued(store, options)
  checkEffects(
    figures.map(({ effects }) => effects),
    total,
    queued,
  )
  if (queued > 0 && !options.depth) throw new Error(`of ${total} jobs ${queued} are still queued`)
  return figures
}

/** Sends jobs to an idle worker; how long each is on its way (or how late it is), in milliseconds. */
export async function measureLatency(bench, options) {
  const all = { ...DEFAULTS, concurrency: 10, ...options }
  const { warmup = 0 } = options
  const total = all.jobs
  const worker = bench.start('work', { ...all, total })
  await worker.ready()
  worker.go()
  const sender = bench.start('send', all)
  await sender.ready()
  await sleep(300)
  sender.go()
  await sender.figures()
  await allDone([worker], total)
  const [{ waits, memory }] = await stopped(bench, [worker], all, total)
  const counted = waits.slice(warmup)
  return {
    p50: quantile(counted, 0.5),
    p95: quantile(counted, 0.95),
    ...(counted.length >= LEAST_FOR_P99 && { p99: quantile(counted, 0.99) }),
    memory,
  }
}

/** Fills the queue to `depth`, then measures one process that runs jobs and adds as many. */
export async function measureDepth(bench, options) {
  const { peer, start, store } = bench
  const { jobs, warmup, depth } = options
  const all = { ...DEFAULTS, ...options, total: depth + jobs + warmup }
  await enqueue(bench, { ...all, way: 'bulk', jobs: depth, warmup: 0 })
  const worker = start('depth:refill', all)
  await worker.ready()
  const redis = await store.cpuMicros?.()
  worker.go()
  await allDone([worker], jobs + warmup)
  const redisUsed = store.cpuMicros && (await store.cpuMicros()) - redis
  const { effects, added, seconds, cpu, memory } = await worker.stop()
  await worker.exited
  checkEffects([effects], added, await peer.queued(store, all))
  return {
    rate: jobs / seconds,
    client: cpu / jobs,
    ...(store.cpuMicros && { redis: redisUsed / (jobs + warmup) }),
    memory,
  }
}

/** Measures a role of a workload's own file, which reports seconds, CPU, memory and effects of `warmup + jobs`. */
export async function measureOwn({ peer, start, store }, role, options) {
  const { jobs, warmup } = options
  const all = { ...DEFAULTS, ...options, total: jobs + warmup }
  const child = start(role, all)
  await child.ready()
  const redis = await store.cpuMicros?.()
  child.go()
  const { seconds, cpu, memory, effects } = await child.figures()
  const redisUsed = store.cpuMicros && (await store.cpuMicros()) - redis
  await child.exited
  checkEffects([effects], all.total)
  const queued = await peer.queued(store, all)
  if (queued > 0) throw new Error(`of ${all.total} jobs ${queued} are still queued`)
  return {
    rate: jobs / seconds,
    seconds,
    client: cpu / jobs,
    ...(store.cpuMicros && { redis: redisUsed / all.total }),
    memory,
  }
}

/** Measures the latency at a share of the rate at which a process adds jobs while another one runs them. */
export async function measureCalibrated(bench, { jobs, share }) {
  const all = { ...DEFAULTS, jobs, warmup: 0, total: jobs, way: 'waves', concurrency: 10 }
  const worker = bench.start('work', all)
  const producer = bench.start('enqueue', all)
  await Promise.all([worker.ready(), producer.ready()])
  worker.go()
  producer.go()
  await producer.figures()
  await allDone([worker], jobs)
  const [{ marks }] = await stopped(bench, [worker], all, jobs)
  const from = marks[0]
  const to = marks.at(-1)
  const perSecond = ((to[1] - from[1]) / (to[0] - from[0])) * 1000 * share
  const paced = Math.max(500, Math.round(perSecond * 2))
  const latency = await measureLatency(bench, { jobs: paced, warmup: Math.round(paced / 4), perSecond })
  return { ...latency, sent: perSecond }
}

/** Measures how long a new process takes to its first job. */
export async function measureStart(bench) {
  const all = { ...DEFAULTS, jobs: 1, warmup: 0, total: 1, concurrency: 10, way: 'bulk' }
  await enqueue(bench, all)
  const worker = bench.start('work', all)
  await worker.ready()
  worker.go()
  await allDone([worker], 1)
  const start = worker.firstAt - worker.startedAt
  const [{ memory }] = await stopped(bench, [worker], all, 1)
  return { start, memory }
}

/** Measures what a worker without jobs costs, after it ran one. */
export async function measureIdle(bench, { seconds }) {
  const { start, store } = bench
  const all = { ...DEFAULTS, jobs: 1, warmup: 0, total: 1, concurrency: 10, way: 'bulk', settleMs: SETTLE_MS }
  await enqueue(bench, all)
  const worker = start('work', all)
  await worker.ready()
  worker.go()
  await allDone([worker], 1)
  await sleep(SETTLE_MS)
  const commands = await store.commands?.()
  const redis = await store.cpuMicros?.()
  await sleep(seconds * 1000)
  // Two of the commands are INFOs of the harness.
  const sent = store.commands && (await store.commands()) - commands - 2
  const redisUsed = store.cpuMicros && (await store.cpuMicros()) - redis
  const [{ used, memory }] = await stopped(bench, [worker], all, 1)
  return {
    idleClient: used.cpu / used.milliseconds,
    ...(store.cpuMicros && { idleRedis: redisUsed / 1000 / seconds, commands: Math.max(0, sent / seconds) }),
    memory,
  }
}
