// Worker processes of the test of events: the argument of each seed is URL. They say which attempt of a job begins, and after
// how many crashes.
import { setTimeout as sleep } from 'node:timers/promises'
import { forEachSeed, seedApp } from './seed-workers.js'

await forEachSeed(async ([url], say, random) => {
  const hq = seedApp(url, random, { random: () => 0 })
  hq.onError(() => {})
  const handler = async (ctx, n) => {
    const { retry_count: retries = 'none', hk_crashes: crashes = 0 } = ctx.payload
    say(`${ctx.jid} ${retries} ${crashes}`)
    if (n % 2 === 0) await sleep(random() * 300)
    if (n % 4 === 0) ctx.progress(n)
    if (n % 5 === 0 && ctx.attempt === 1) throw new Error('at first')
  }
  hq.job('J', { retryIn: () => 0, maxCrashes: 1000 }, handler)
  hq.job('Last', () => {})
  await hq.worker({ queues: ['default'], concurrency: 4, leaseSeconds: 1, pollInterval: 0.05 }).start()
})
