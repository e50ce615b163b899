// A Highkiq process beside Ruby's: worker.js URL OPTIONS. It says `started`, and ends with who started it.
import { Highkiq } from 'highkiq'
import { Redis } from 'ioredis'
import { defineJobs } from './jobs.js'

const [url, options] = process.argv.slice(2)
process.stdin.on('close', () => process.kill(process.pid, 'SIGKILL')).resume()
const quiet = { debug() {}, info() {}, warn() {}, error: console.error, child: () => quiet }
const hq = new Highkiq({ url, wire: 6, logger: quiet })
defineJobs(hq, new Redis(url))
// Jobs fail as they are told to; whatever else goes wrong is written.
hq.onError((error, about) => {
  if (!about.jid) console.error(error, about)
})
hq.on('heartbeat', () => process.stdout.write('started\n'))
await hq.worker({ leaseSeconds: 1, timeout: 5, ...JSON.parse(options) }).run()
process.exit()
