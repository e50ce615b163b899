// Processes of the test of priorities: the argument of each seed is URL. They say what they fetch and what runs.
import { setTimeout as sleep } from 'node:timers/promises'
import { forEachSeed, seedApp } from './seed-workers.js'

await forEachSeed(async ([url], say, random) => {
  const hq = seedApp(url, random)
  // A killed neighbour.
  hq.onError(() => {})
  hq.job('J', { retryIn: 0.01, maxCrashes: 1000 }, async ({ payload }, n) => {
    await sleep(random() * 60)
    if (n % 10 === 0 && payload.retry_count === undefined) throw new Error('at first')
    say(`ran ${JSON.stringify([payload.queue, n])}`)
  })

  // What one call of the store returns is one fetch.
  const { workers } = hq.store
  const settleAndFetch = workers.settleAndFetch.bind(workers)
  workers.settleAndFetch = async (...request) => {
    const answer = await settleAndFetch(...request)
    const jobs = answer.fetched.map(({ queue, text }) => ({ queue, ...JSON.parse(text) }))
    const about = jobs.map(({ queue, args: [n], hk_crashes: crashes = 0 }) => ({ queue, n, crashes }))
    if (jobs.length > 0) say(`fetched ${JSON.stringify(about)}`)
    return answer
  }
  await hq.worker({ queues: ['a', 'b'], concurrency: 6, leaseSeconds: 1, pollInterval: 0.05 }).start()
})
