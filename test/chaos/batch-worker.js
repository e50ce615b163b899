// One worker process of the test of batches: batch-worker.js URL FILE. It writes what runs into the file. Its clock is set
// again and again.
import { appendFileSync } from 'node:fs'
import { Highkiq } from 'highkiq'

const [url, file] = process.argv.slice(2)
const STEP_MS = 4000
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
quiet.child = () => quiet
let ahead = 0
setInterval(() => {
  ahead = (Math.random() - 0.5) * STEP_MS
}, 40).unref()
const hq = new Highkiq({ url, logger: quiet, clock: { now: () => Date.now() + ahead } })

/** One line for each run; `crashes` tells a repeated run from a second push. */
const note = (ctx, about) => {
  const { jid, hk_crashes: crashes = 0 } = ctx.payload
  appendFileSync(file, `${JSON.stringify({ jid, crashes, ...about })}\n`)
}
const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 8))

const Work = hq.job('Work', { retry: 1, retryIn: 0.01, maxCrashes: 1000 }, async (ctx, name, how) => {
  await pause()
  if (how === 'dies' || (how === 'retries' && ctx.payload.retry_count === undefined)) throw new Error(how)
  if (how === 'grows') await ctx.batch.add(() => Work.performAsync(`${name} grown`, 'ok'))
  return name
})
hq.job('Once', { maxCrashes: 1000, unique: true }, pause)
for (const name of ['Success', 'Complete', 'Death']) {
  hq.job(name, { maxCrashes: 1000 }, async (ctx, bid) => note(ctx, { name, bid }))
}
hq.job('Join', { maxCrashes: 1000 }, async (ctx, name) => {
  const children = await ctx.children()
  note(ctx, { name: 'Join', children: children.map(({ status }) => status) })
  return name
})

const worker = hq.worker({ queues: ['default'], concurrency: 4, leaseSeconds: 1, pollInterval: 0.05 })
hq.on('heartbeat', () => process.stdout.write('ready\n'))
await worker.run()
