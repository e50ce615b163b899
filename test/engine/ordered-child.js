// A worker process of an ordered queue: ordered-child.js URL OPTIONS. It writes what happens as lines of JSON; the first
// payload of a batch says what to do. (Plain JavaScript, for it is started often.)
import { existsSync, writeSync } from 'node:fs'
import { Highkiq } from 'highkiq'

const [url, options] = process.argv.slice(2)
const emit = (type, about = {}) => writeSync(1, `${JSON.stringify({ type, pid: process.pid, ...about })}\n`)
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }
const { ordered = {}, ...more } = JSON.parse(options)

const hq = new Highkiq({ url, logger: quiet, random: () => 0 })
hq.onError((error) => emit('error', { code: error.code, message: error.message }))
hq.ordered('Sync', { shards: 1, ...ordered }, async (ctx, batch) => {
  const [[payload]] = batch.values()
  emit('began', { batch: Object.fromEntries(batch), fence: ctx.fence })
  if (payload === 'wait') {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    emit('aborted', { code: ctx.signal.reason.code })
    throw ctx.signal.reason
  }
  const [, file] = /^block until (.+)$/.exec(payload) ?? []
  const nothing = new Int32Array(new SharedArrayBuffer(4))
  while (file && !existsSync(file)) Atomics.wait(nothing, 0, 0, 10)
  emit('ended')
  if (payload === 'die') {
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => {})
  }
})
await hq.worker({ leaseSeconds: 1, timeout: 5, pollInterval: 0.05, ...more }).run()
await hq.close()
