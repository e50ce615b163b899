// Works on a store until SIGTERM, then closes it, and ends when nothing is left open: frozen-child.js URL
import { Highkiq } from 'highkiq'

const hq = new Highkiq({ url: process.argv[2] })
const emit = (type) => process.stdout.write(`${JSON.stringify({ type, pid: process.pid })}\n`)
hq.onError(() => {})
hq.job('J', () => emit('ran'))
await hq.worker({ queues: ['default'], timeout: 1 }).start()
process.once('SIGTERM', () => hq.close().then(() => emit('closed')))
await hq.push({ class: 'J', args: [] })
