// A worker process whose handlers block its event loop: blocker.js URL OPTIONS. It writes what happens as lines of JSON.
// (Plain JavaScript, for it is started often.)
import { existsSync, writeSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
import { pino } from 'pino'

const [url, options] = process.argv.slice(2)
const emit = (type, about = {}) => writeSync(1, `${JSON.stringify({ type, pid: process.pid, ...about })}\n`)
const log = { debug() {}, info() {}, warn: (about, message) => emit('warned', { ...about, message }), error() {} }
log.child = () => log

const hq = new Highkiq({ url, logger: log, random: () => 0 })
hq.onError((error) => emit('error', { code: error.code, message: error.message }))

/** Blocks until there is such a file, and a little longer. */
function blockUntil(file, andMs = 0) {
  const nothing = new Int32Array(new SharedArrayBuffer(4))
  emit('began')
  while (!existsSync(file)) Atomics.wait(nothing, 0, 0, 10)
  Atomics.wait(nothing, 0, 0, andMs)
  emit('ended')
}

hq.job('Stuck', (_ctx, file, andMs) => blockUntil(file, andMs))
hq.job('StuckWithResult', { keepResult: 60 }, (_ctx, file) => {
  blockUntil(file)
  return 'late'
})
hq.iterable('StuckItems', {
  *enumerate(_ctx, _cursor, file) {
    yield [0, 0]
    blockUntil(file)
    yield [1, 1]
  },
  each() {},
  saveEvery: 0.001,
})
hq.job('StuckLater', async (_ctx, file) => {
  await nextTurn()
  blockUntil(file)
})
hq.job('StuckWhenStopping', async (_ctx, file) => {
  emit('waits')
  await new Promise((resolve) => hq.on('quiet', resolve))
  blockUntil(file)
})
/** Blocks while nobody reads its log: so the default logger writes. */
const chatty = pino(pino.destination({ dest: 2, sync: true }))
hq.job('Flood', () => {
  emit('began')
  chatty.info('x'.repeat(4_000_000))
  emit('ended')
})
hq.job('Waiting', async (ctx) => {
  emit('waits')
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
})
hq.job('Quick', (_ctx, n) => emit('ran', { n }))

const worker = hq.worker({ leaseSeconds: 1, timeout: 5, pollInterval: 0.05, ...JSON.parse(options) })
await worker.run()
await hq.close()
