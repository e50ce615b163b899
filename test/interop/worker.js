// A Highkiq process beside Ruby's: worker.js URL OPTIONS. It says `started`, and what it waits for is nothing.
import { Highkiq } from 'highkiq'
import { Redis } from 'ioredis'
import { defineJobs } from './jobs.js'

const [url, options] = process.argv.slice(2)
const hq = new Highkiq({ url, wire: 6 })
defineJobs(hq, new Redis(url))
const worker = hq.worker({ leaseSeconds: 1, timeout: 5, ...JSON.parse(options) })
hq.on('heartbeat', () => process.stdout.write('started\n'))
await worker.run()
process.exit()
