// One worker process whose clock is set again and again: limit-worker.js URL FOLDER CONCURRENCY
import { openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'

const [url, folder, concurrency] = process.argv.slice(2)
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent }
let offset = 0
setInterval(() => {
  offset = Math.floor((Math.random() - 0.5) * 7_200_000)
}, 100).unref()
const hq = new Highkiq({ url, logger: silent, clock: { now: () => Date.now() + offset } })
const log = openSync(`${folder}/notes-${process.pid}.log`, 'a')
const limit = { concurrency: 2, rate: 40, per: '1s', burst: 2, by: (key) => key }
hq.job('Limited', { limit, maxCrashes: 1_000_000 }, async (_ctx, key, n) => {
  const note = (word) => writeSync(log, `${word} ${key} ${n} ${process.hrtime.bigint() / 1000n}\n`)
  note('begin')
  await sleep(n % 3 === 0 ? 30 : 2)
  note('end')
})
hq.onError(() => {})
const worker = hq.worker({ concurrency: Number(concurrency), leaseSeconds: 1, timeout: 5 })
hq.on('heartbeat', () => process.stdout.write('ready\n'))
await worker.run()
await hq.close()
