// A process that stores a large batch of scheduled jobs, until it is killed: batch-pusher.js URL OPTIONS.
import { writeSync } from 'node:fs'
import { Highkiq } from 'highkiq'

const [url, options] = process.argv.slice(2)
const { jobs } = JSON.parse(options)
const hq = new Highkiq({ url })
const Work = hq.job('Work', () => {})
const Complete = hq.job('complete', () => {})
const Success = hq.job('success', () => {})
const rows = Array.from({ length: jobs }, (_, n) => [n])
await hq.batch({ onComplete: Complete, onSuccess: Success }, async ({ bid }) => {
  await Work.set({ unique: true }).performBulk(rows, { at: Date.now() / 1000 + 1e6 })
  await hq.batch({}, () => Work.performIn(1e6, 'inner'))
  writeSync(1, `${JSON.stringify({ type: 'pushing', bid })}\n`)
})
