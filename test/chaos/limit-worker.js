// Processes of the test of limits: the argument of each seed is URL. They say when each job begins and ends, and which lost
// their leases.
import { setTimeout as sleep } from 'node:timers/promises'
import { forEachSeed, seedApp } from './seed-workers.js'

await forEachSeed(async ([url], say, random) => {
  const hq = seedApp(url, random, { seconds: 3600 })
  const note = (word, key = '', n = '') => say(`${word} ${process.pid} ${process.hrtime.bigint() / 1000n} ${key} ${n}`)
  const limit = { concurrency: 2, rate: 20, per: '1s', burst: 2, by: (key) => key }
  hq.job('Limited', { limit, maxCrashes: 1_000_000 }, async (_ctx, key, n) => {
    note('begin', key, n)
    await sleep(n % 3 === 0 ? 300 : 20)
    note('end', key, n)
  })
  hq.onError(({ code }) => {
    if (code === 'LEASE_LOST') note('lost')
  })
  await hq.worker({ concurrency: 4, leaseSeconds: 1 }).start()
})
