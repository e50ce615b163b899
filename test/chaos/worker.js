// One worker process of the chaos tests: worker.js URL FOLDER CONCURRENCY
import { chaosApp } from './jobs.js'

const [url, folder, concurrency] = process.argv.slice(2)
const { hq, note } = chaosApp(url, folder)
hq.onError((error, about) => {
  if (error.code === 'LEASE_LOST' && about.owner) note(`lost ${about.owner}`)
  else if (process.env.HIGHKIQ_CHAOS_ERRORS) note(`# ${error.stack} ${JSON.stringify(about)}`.replaceAll('\n', ' '))
})
const worker = hq.worker({ concurrency: Number(concurrency), leaseSeconds: 1, timeout: 5 })
hq.on('heartbeat', () => process.stdout.write('ready\n'))
await worker.run()
await hq.close()
