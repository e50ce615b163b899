// A worker of an app with alerts: child.js URL OPTIONS, a JSON object with `alerts` and the seconds that its time is ahead.
import { Highkiq } from 'highkiq'

const [url, text] = process.argv.slice(2)
const { alerts, ahead = 0 } = JSON.parse(text)
const clock = { now: () => Date.now() + ahead * 1000 }
const quiet = () => {}
const logger = { debug: quiet, info: quiet, warn: console.error, error: console.error }
const hq = new Highkiq({ url, alerts, clock, logger })
await hq.worker({ queues: ['default'] }).start()
