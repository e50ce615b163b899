// One worker process: freeze-worker.js URL FOLDER CONCURRENCY. Its jobs note when they begin and end, on a clock that all
// processes of the machine share. (Plain JavaScript, for it is started often.)
import { openSync, writeSync } from 'node:fs'
import { Highkiq } from 'highkiq'

const [url, folder, concurrency] = process.argv.slice(2)
const file = openSync(`${folder}/notes-${process.pid}.log`, 'a')
const note = (word, n) => writeSync(file, `${word} ${n} ${process.hrtime.bigint()}\n`)

const hq = new Highkiq({ url })
hq.onError((error, about) => {
  if (error.code === 'LEASE_LOST' && about.owner) note('lost', 0)
})
hq.job('Noted', async (_ctx, n) => {
  note('began', n)
  for (const end = performance.now() + 0.3; performance.now() < end; );
  // Some jobs wait, so that they are running when their process is stopped.
  if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  note('ended', n)
})
const worker = hq.worker({ concurrency: Number(concurrency), leaseSeconds: 1, timeout: 5 })
hq.on('heartbeat', () => process.stdout.write('ready\n'))
await worker.run()
await hq.close()
