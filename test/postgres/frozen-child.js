// Works on a store until SIGTERM, then closes it, and ends when nothing is left open: frozen-child.js URL
import { Highkiq } from 'highkiq'

const hq = new Highkiq({ url: process.argv[2] })
const say = (is) => process.stdout.write(`${JSON.stringify({ is, pid: process.pid })}\n`)
hq.onError(() => {})
hq.job('J', () => say('ran'))
await hq.worker({ queues: ['default'], timeout: 1 }).start()
process.once('SIGTERM', () => hq.close().then(() => say('closed')))
await hq.push({ class: 'J', args: [] })
