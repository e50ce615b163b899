// What a process of a peer can be: it enqueues, it sends jobs at a fixed rate, or it works. A role gets the peer, its
// options and functions to talk to the harness (`say`, `go`, `stop`), and returns its figures. `bench/peers/sidekiq.rb` has
// the same roles in Ruby.
import { setTimeout as sleep } from 'node:timers/promises'
import { Effects } from './effects.js'

const TICK_MS = 10
const WAVE = 1000

/** The same clock in all processes of a machine, in milliseconds. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

export function cpuMicros() {
  const { user, system } = process.cpuUsage()
  return user + system
}

export const megabytes = () => process.resourceUsage().maxRSS / 1024

/** Runs jobs in `concurrency` slots. */
export function runAll(jobs, concurrency, run) {
  let next = 0
  const slot = async () => {
    while (next < jobs.length) await run(jobs[next++])
  }
  return Promise.all(Array.from({ length: Math.min(concurrency, jobs.length) }, slot))
}

/** Arguments of job `number`, about `payload` bytes as JSON. */
export function argsOf(number, payload, ...more) {
  return [number, 'x'.repeat(Math.max(1, payload - 12)), ...more]
}

/**
 * Makes the role of a process that adds jobs and runs them: those of the warm-up, then those that count. `define` gets the app,
 * a function to call with the number of each job that ran, and the options. It returns a function that makes the jobs of a part,
 * and returns what adds and runs them; `ended` resolves when all of them ran.
 */
export function countingRole(define) {
  return async (peer, options, { say, go }) => {
    const hq = await peer.app(options)
    const effects = new Effects(options.total)
    let done = 0
    let wanted
    let resolve
    const ran = (number) => {
      effects.ran(number)
      if (++done === wanted) resolve()
    }
    const make = define(hq, ran, options)
    say({ ready: true })
    await go
    async function part(from, to) {
      wanted = to
      const ended = new Promise((reached) => {
        resolve = reached
      })
      const run = make(from, to)
      const before = { at: now(), cpu: cpuMicros() }
      await run(ended)
      return { seconds: (now() - before.at) / 1000, cpu: cpuMicros() - before.cpu }
    }
    if (options.warmup > 0) await part(0, options.warmup)
    const figures = await part(options.warmup, options.total)
    await hq.close()
    return { ...figures, effects, memory: megabytes() }
  }
}

export const range = (from, to, of) => Array.from({ length: to - from }, (_, i) => of(from + i))

const WAYS = {
  async single(producer, from, to, { payload, queues }) {
    for (let n = from; n < to; n++) await producer.add(argsOf(n, payload), { queue: n % queues })
  },
  async waves(producer, from, to, { payload, queues }) {
    for (let n = from; n < to; n += WAVE) {
      const wave = range(n, Math.min(to, n + WAVE), (i) => producer.add(argsOf(i, payload), { queue: i % queues }))
      await Promise.all(wave)
    }
  },
  async bulk(producer, from, to, { payload, queues }) {
    const size = queues > 1 ? WAVE / 10 : WAVE
    for (let n = from; n < to; n += size) {
      const rows = range(n, Math.min(to, n + size), (i) => argsOf(i, payload))
      await producer.addBulk(rows, { queue: Math.floor(n / size) % queues })
    }
  },
}

export const ROLES = {
  /** Adds the jobs; those of the warm-up do not count. */
  async enqueue(peer, options, { say, go }) {
    const producer = await peer.producer(options)
    say({ ready: true })
    await go
    const add = (from, to) => WAYS[options.way](producer, from, to, options)
    await add(0, options.warmup)
    const before = { at: now(), cpu: cpuMicros() }
    await add(options.warmup, options.warmup + options.jobs)
    const after = { at: now(), cpu: cpuMicros() }
    await producer.close()
    return { seconds: (after.at - before.at) / 1000, cpu: after.cpu - before.cpu, memory: megabytes() }
  },

  /** Adds `jobs` jobs, `perSecond`, each with the time when it is added; or with the time when it is due. */
  async send(peer, options, { say, go }) {
    const producer = await peer.producer(options)
    say({ ready: true })
    await go
    const adding = []
    const began = now()
    for (let i = 0; i < options.jobs; i++) {
      const early = began + (i * 1000) / options.perSecond - now()
      if (early > 0.5) await sleep(early)
      const delay = options.delays?.[i] ?? 0
      adding.push(producer.add(argsOf(i, options.payload, now() + delay), { queue: 0, delay }))
    }
    await Promise.all(adding)
    await producer.close()
    return {}
  },

  /** Works until `stop`. Each mark is a time, how many jobs were done then, and how much CPU the process had used. */
  async work(peer, options, { say, go, stop }) {
    const effects = new Effects(options.total)
    const step = Math.max(1, Math.min(1000, Math.floor(options.total / 20)))
    const marks = []
    const waits = []
    let done = 0
    let at = 0
    let reported = 0
    const count = ([number, , sent]) => {
      at = now()
      if (sent) waits.push(at - sent)
      effects.ran(number)
      if (++done % step === 0) marks.push([at, done, cpuMicros()])
      if (done === 1) report()
    }
    let timer
    const report = () => {
      if (done === reported) return
      reported = done
      marks.push([at, done, cpuMicros()])
      say({ done })
      // An idle worker is measured without this timer.
      if (done >= options.total) clearInterval(timer)
    }
    const handlers = {
      noop: count,
      async sleep(args) {
        await sleep(1)
        count(args)
      },
      cpu(args) {
        const end = performance.now() + 1
        while (performance.now() < end);
        count(args)
      },
    }
    say({ ready: true })
    await go
    const worker = await peer.worker(options, handlers[options.handler])
    timer = setInterval(report, TICK_MS)
    await sleep(options.settleMs ?? 0)
    const idle = { at: now(), cpu: cpuMicros() }
    await stop
    const used = { milliseconds: now() - idle.at, cpu: cpuMicros() - idle.cpu }
    clearInterval(timer)
    report()
    await worker.close()
    return { effects, marks, waits, used, memory: megabytes() }
  },
}
