// Fills a store with 2,000 queues and 500 processes with heartbeats and leases, each with ten running jobs. It pushes to some
// queues all the time.
//   node bench/dashboard/crowd.js URL
import { appOn } from './app.js'

const [, , url] = process.argv
const QUEUES = 2000
const PROCESSES = 500
const RUNNING = 10
/** The queues that change in a second. */
const ACTIVE = 20
const BEAT_MS = 10_000
/** Longer than a measurement, so that no lease has to be renewed. */
const LEASE_SECONDS = 3600

const hq = appOn(url)
await hq.store.open()
const now = Date.now()
const job = (n, queue) => ({
  class: `Job${n % 12}`,
  args: [n],
  queue,
  jid: `${n}`.padStart(24, '0'),
  tags: [`t${n % 7}`],
})
for (let q = 0; q < QUEUES; q++) {
  const texts = Array.from({ length: 5 }, (_, n) =>
    JSON.stringify({ ...job(q * 5 + n, `q${q}`), created_at: now, enqueued_at: now - q * 1000 }),
  )
  await hq.store.jobs.push(
    texts.map((text) => ({ to: 'queue', queue: `q${q}`, text, end: 'back' })),
    now,
  )
}
for (let p = 0; p < PROCESSES; p++) {
  const { identity, queues } = worker(p)
  await hq.store.workers.join(`${identity}:1`, { queues, seconds: LEASE_SECONDS, host: identity })
  await beat(p)
}
console.log('ready')

let next = 0
setInterval(() => void beat(next++ % PROCESSES), BEAT_MS / PROCESSES)
setInterval(() => void hq.push({ class: 'Job1', args: [next], queue: `q${next % ACTIVE}` }), 1000 / ACTIVE)

function worker(p) {
  const queues = Array.from({ length: 8 }, (_, n) => `q${(p * 4 + n) % QUEUES}`)
  return { queues, identity: `worker-${p}.shop.example:${1000 + p}:0123456789ab` }
}

function beat(p) {
  const { queues, identity } = worker(p)
  const about = { hostname: `worker-${p}`, pid: 1000 + p, tag: 'shop', labels: [`rack-${p % 9}`], queues }
  const info = JSON.stringify({ ...about, highkiq: '0.2.0', capsules: {}, started_at: now / 1000 })
  const running = Array.from({ length: RUNNING }, (_, n) => {
    const queue = queues[n % queues.length]
    return { slot: `s${n}`, queue, text: JSON.stringify(job(p * RUNNING + n, queue)), startedAt: now - n * 60_000 }
  })
  const record = { identity, info, concurrency: RUNNING, busy: RUNNING, beat: Date.now(), quiet: false, rss: 200_000 }
  return hq.store.workers.heartbeat(record, 60, running)
}
