// Processes of the test of deferred rows: the arguments of each seed are URL and FILE. They say each deferred row, and write
// what onDone gets into the file.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
import { forEachSeed } from './seed-workers.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

await forEachSeed(async ([url, file], say) => {
  const hq = new Highkiq({ url, logger: quiet })
  // A killed neighbour.
  hq.onError(() => {})

  hq.job('Pay', { retryIn: 0.01, maxCrashes: 1000 }, async (ctx, within) => {
    await sleep(Math.random() * 20)
    if (!(await ctx.defer({ within }))) return 'ended before'
    say(ctx.jid)
    await sleep(Math.random() * 60)
    if (Math.random() < 0.2) throw new Error('fails after it deferred')
    return 'no result'
  })
  hq.job('Done', { maxCrashes: 1000 }, (ctx, task) => appendFileSync(file, `${task} ${ctx.jid}\n`))

  const worker = hq.worker({ queues: ['default'], concurrency: 4, leaseSeconds: 1, pollInterval: 0.05 })
  await worker.start()
})
