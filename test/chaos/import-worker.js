// One worker process: import-worker.js URL FOLDER CONCURRENCY
import { importApp } from './import-jobs.js'

const [url, folder, concurrency] = process.argv.slice(2)
const { hq } = importApp(url, folder)
hq.onError(() => {})
const worker = hq.worker({ concurrency: Number(concurrency), leaseSeconds: 1, timeout: 5 })
hq.on('heartbeat', () => process.stdout.write('ready\n'))
await worker.run()
await hq.close()
