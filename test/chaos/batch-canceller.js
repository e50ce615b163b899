// One caller process of the test of batches: batch-canceller.js URL FILE. It cancels the batches that the file lists, again and
// again from the first one on, until it is killed.
import { readFileSync } from 'node:fs'
import { Highkiq } from 'highkiq'

const [url, file] = process.argv.slice(2)
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
quiet.child = () => quiet
const hq = new Highkiq({ url, logger: quiet })
await hq.store.open()
process.stdout.write('ready\n')
for (;;) {
  for (const bid of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
    const batch = await hq.batches.get(bid)
    if (batch?.state === 'running') await hq.batches.cancel(bid)
  }
  await new Promise((resolve) => setTimeout(resolve, 10))
}
