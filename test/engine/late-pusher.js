// A process that opens its store late: late-pusher.js URL OPTIONS. At each SIGUSR2 it makes an app, with these options, and pushes
// a job. It prints each outcome as a line of JSON.
import { writeSync } from 'node:fs'
import { Highkiq } from 'highkiq'

const [url, options] = process.argv.slice(2)
const emit = (type, about = {}) => writeSync(1, `${JSON.stringify({ type, ...about })}\n`)
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

process.on('SIGUSR2', async () => {
  const hq = new Highkiq({ url, logger: quiet, ...JSON.parse(options) })
  try {
    await hq.push({ class: 'J', args: [] })
    emit('pushed')
  } catch ({ name, code, message, cause }) {
    emit('refused', { name, code, message, cause: cause?.code })
  }
})
setInterval(() => {}, 1_000_000)
emit('ready')
