// One worker process: ordered-worker.js URL FOLDER CONCURRENCY
import { orderedApp } from './ordered-jobs.js'

const [url, folder, concurrency] = process.argv.slice(2)
const { hq } = orderedApp(url, folder)
hq.onError(() => {})
const worker = hq.worker({ concurrency: 1, orderedConcurrency: Number(concurrency), leaseSeconds: 1, timeout: 5 })
hq.on('heartbeat', () => process.stdout.write('ready\n'))
await worker.run()
await hq.close()
