// Worker processes of the test of events: the argument of each seed is URL.
import { forEachSeed, seedApp } from './seed-workers.js'

await forEachSeed(async ([url], _say, random) => {
  const hq = seedApp(url, random, { random: () => 0 })
  hq.onError(() => {})
  const handler = async (ctx, n) => {
    if (n % 2 === 0) await new Promise((resolve) => setTimeout(resolve, n % 15))
    if (n % 4 === 0) ctx.progress(n)
    if (n % 5 === 0 && ctx.attempt === 1) throw new Error('at first')
  }
  hq.job('J', { retryIn: () => 0, maxCrashes: 1000 }, handler)
  hq.job('Last', () => {})
  await hq.worker({ queues: ['default'], concurrency: 4, leaseSeconds: 1, pollInterval: 0.05 }).start()
})
