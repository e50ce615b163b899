// Opens a store by a relative path, and changes the working folder: elsewhere.js FOLDER
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'

const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger }
const hq = new Highkiq({ url: 'sqlite:jobs.db', logger })
const ended = new EventTarget()

const firstLease = async () => (await hq.store.workers.leases())[0]

hq.job('Long', { retry: false }, async (ctx) => {
  const first = await firstLease()
  let lease = first
  while (lease?.stamp === first.stamp && !ctx.signal.aborted) {
    await sleep(10)
    lease = await firstLease()
  }
  console.log(ctx.abortReason?.code ?? (lease?.owner === first.owner ? 'renewed' : 'lost'))
  ended.dispatchEvent(new Event('ended'))
})
await hq.push({ class: 'Long', args: [] })
process.chdir(process.argv[2])
const end = once(ended, 'ended')
const worker = hq.worker({ leaseSeconds: 1 })
await worker.start()
await end
await worker.stop()
await hq.close()
