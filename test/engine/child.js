// A worker process of these tests: child.js URL OPTIONS. It writes what happens as lines of JSON. (Plain JavaScript, for
// it is started often.)
import { writeSync } from 'node:fs'
import { Highkiq, iterate } from 'highkiq'

const [url, options] = process.argv.slice(2)
const emit = (type, about = {}) => writeSync(1, `${JSON.stringify({ type, pid: process.pid, ...about })}\n`)
const quiet = {
  debug() {},
  info: (_about, message) => emit('logged', { message }),
  warn: (about, message) => emit('warned', { ...about, message }),
  error() {},
}
quiet.child = () => quiet

const hq = new Highkiq({ url, logger: quiet, random: () => 0 })
hq.onError((error) => emit('error', { code: error.code, message: error.message }))
hq.onDeath((payload, error) => emit('death', { jid: payload.jid, crashes: payload.hk_crashes, message: error.message }))
hq.onFatal((error, worker) => emit('fatal', { message: error.message, worker }))
for (const event of ['startup', 'quiet', 'shutdown', 'exit', 'heartbeat', 'reopen']) hq.on(event, () => emit(event))

hq.job('Quick', (ctx, n) => emit('ran', { n, attempt: ctx.attempt }))
/** Goes on until it is told to end. */
hq.job('Long', async (ctx, n) => {
  ctx.progress(1, 4)
  emit('began', { n, attempt: ctx.attempt })
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  emit('aborted', { n, code: ctx.signal.reason.code })
  throw ctx.signal.reason
})
/** Defers its row, and goes on until the process is killed. */
hq.job('Deferring', async (ctx, n) => {
  emit('deferred', { n, isOpen: await ctx.defer({ within: '1h' }) })
  await new Promise(() => {})
})
/** Does not look at its signal. */
hq.job('Deaf', async (_ctx, n, ms) => {
  emit('began', { n })
  await new Promise((resolve) => setTimeout(resolve, ms))
  emit('ended', { n })
})
hq.job('Blocking', (_ctx, ms) => {
  emit('began')
  for (const end = performance.now() + ms; performance.now() < end; );
  emit('ended')
})
/** Leaves an error behind that nobody catches. */
hq.job('Careless', (_ctx, how) => {
  emit('began')
  const error = new Error(`nobody ${how}`)
  if (how === 'catches') setTimeout(() => Promise.reject(error))
  else {
    setTimeout(() => {
      throw error
    })
  }
})
/** Crashes its process, and does not end by itself. */
hq.job('Crashing', { maxCrashes: 2 }, async (ctx, how) => {
  emit('began', { crashes: ctx.payload.hk_crashes ?? 0 })
  setTimeout(() => {
    throw new Error('nobody catches')
  })
  await new Promise((_, reject) => {
    if (how === 'obeys') ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))
  })
})
hq.job('Killer', { maxCrashes: 3 }, async (ctx) => {
  emit('began', { crashes: ctx.payload.hk_crashes ?? 0 })
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {})
})
/** Uses memory until its process has no more. */
hq.job('Hungry', () => {
  emit('began')
  for (const all = []; ; ) all.push(Array(100_000).fill(0.5))
})

/** Tells each of `n` items, as it begins with it. */
hq.iterable('Items', {
  saveEvery: 0.05,
  enumerate: (_ctx, cursor, n) => iterate.array([...Array(n).keys()], cursor),
  each: async (_ctx, item) => {
    emit('item', { item })
    await new Promise((resolve) => setTimeout(resolve, 2))
  },
})

const { slowStart, ordered, ...more } = JSON.parse(options)
/** What a payload says befalls its process. */
if (ordered) {
  hq.ordered('Sync', { shards: 1, retryIn: () => 0, ...ordered }, async (ctx, batch) => {
    const payloads = [...batch.values()].flat()
    emit('batch', { ids: [...batch.keys()], fence: ctx.fence })
    if (payloads.includes('kill')) process.kill(process.pid, 'SIGKILL')
    if (payloads.includes('doom')) {
      setTimeout(() => {
        throw new Error('nobody catches')
      })
    }
    if (payloads.some((payload) => ['kill', 'doom', 'wait'].includes(payload))) {
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
    }
    if (payloads.includes('sleep')) await new Promise((resolve) => setTimeout(resolve, 100))
    emit('ran', { ids: [...batch.keys()] })
  })
}
if (slowStart) {
  hq.on('startup', () => {
    emit('starting')
    // Until the signal is here.
    return new Promise((resolve) => process.once('SIGTERM', resolve))
  })
}
const worker = hq.worker({ leaseSeconds: 1, timeout: 5, pollInterval: 0.05, ...more })
await worker.run()
await hq.close()
emit('closed')
