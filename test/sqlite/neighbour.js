// Another process on the same file: neighbour.js MODE URL
//   write  – pushes without a pause, and prints a line for each hundred jobs
//   work   – runs a worker whose job prints how long it waited
//   open   – opens the store and ends
//   read   – reads the queue `long` page by page without a pause
import { Highkiq } from 'highkiq'

const [mode, url] = process.argv.slice(2)
const hq = new Highkiq({ url })
const Arrive = hq.job('Arrive', { queue: 'arrivals' }, async (_ctx, sent) => {
  process.stdout.write(`${Date.now() - sent}\n`)
})

if (mode === 'open') {
  await hq.stats()
} else if (mode === 'read') {
  process.on('disconnect', () => process.exit(0))
  await hq.stats()
  process.stdout.write('ready\n')
  for (;;) await hq.store.search.scanQueue('long', 'nowhere', { limit: 500 })
} else if (mode === 'write') {
  process.on('disconnect', () => process.exit(0))
  for (;;) {
    for (let i = 0; i < 100; i++) await hq.push({ class: 'Nobody', args: [i], queue: 'heap' })
    process.stdout.write('hundred\n')
  }
} else {
  const worker = hq.worker({ queues: [Arrive.definition.options.queue] })
  hq.on('heartbeat', () => process.stdout.write('ready\n'))
  await worker.run()
}
await hq.close()
