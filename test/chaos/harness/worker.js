// One worker process of `npm run chaos`: worker.js URL FOLDER CONCURRENCY [soak]
import { clockOf, harnessApp, now, openJournal, silent, watchHeap } from './app.js'

const [url, folder, concurrency, mode] = process.argv.slice(2)
const isSoak = mode === 'soak'
const write = openJournal(folder, 'worker')
/** A worker that must end while the store is away leaves its jobs to others, as one that loses its lease. */
const logger = {
  ...silent,
  error(_about, message) {
    if (message.startsWith('the store did not settle all jobs before the stop')) write('lost', process.pid, now())
  },
  child: () => logger,
}
const { hq, Tick } = harnessApp(url, write, { clock: clockOf(folder), logger, isSoak })
hq.cron('ticks', '* * * * * *', Tick, { args: (tick) => [tick.getTime()], missed: 'all' })
hq.onError((error, about) => {
  if (error.code === 'LEASE_LOST' && about.owner) write('lost', about.owner, now())
})
const options = { concurrency: Number(concurrency), orderedConcurrency: 5, leaseSeconds: 1, timeout: 5 }
hq.on('heartbeat', () => process.stdout.write('ready\n'))
if (isSoak) watchHeap(write)
await hq.worker(options).run()
await hq.close()
