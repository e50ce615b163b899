// Processes of the test of deferred rows: the argument of each seed is URL. They say each deferred row, and what onDone gets.
import { setTimeout as sleep } from 'node:timers/promises'
import { forEachSeed, seedApp } from './seed-workers.js'

await forEachSeed(async ([url], say, random) => {
  const hq = seedApp(url, random)
  // A killed neighbour.
  hq.onError(() => {})

  hq.job('Pay', { retryIn: 0.01, maxCrashes: 1000 }, async (ctx, within) => {
    await sleep(random() * 20)
    if (!(await ctx.defer({ within }))) return 'ended before'
    say(`deferred ${ctx.jid}`)
    await sleep(random() * 60)
    if (random() < 0.2) throw new Error('fails after it deferred')
    return 'no result'
  })
  hq.job('Done', { maxCrashes: 1000 }, (ctx, task) => say(`done ${task} ${ctx.jid}`))

  const worker = hq.worker({ queues: ['default'], concurrency: 4, leaseSeconds: 1, pollInterval: 0.05 })
  await worker.start()
})
