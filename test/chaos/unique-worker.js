// Processes that push and run unique jobs: the argument of each seed is URL. Their clocks are set again and again. (Plain
// JavaScript, because they are started often.)
import { setTimeout as sleep } from 'node:timers/promises'
import { Snooze } from 'highkiq'
import { forEachSeed, isBusy, seedApp } from './seed-workers.js'
import { FORMS } from './unique-forms.js'

const KEYS = 12
const by = (key) => key

await forEachSeed(async ([url], say, random) => {
  const dice = (n) => Math.floor(random() * n)
  const oneOf = (...values) => values[dice(values.length)]

  const hq = seedApp(url, random, { seconds: 1800 })
  // All other errors are those of a killed neighbour, or of a store that is closed while this process stops.
  hq.onError(({ code }) => {
    if (code === 'LEASE_LOST') say(`lost ${process.pid}`)
  })
  /** Says that a job runs whose lock is that of another job, or of none. */
  const checkLock = async ({ jid, class: name, hk_unique: lock }) => {
    const [held] = await hq.store.unique.find([lock.replace(/^.*:/, '')], hq.now())
    if (held?.holder !== jid) say(`unlocked ${process.pid} ${name} ${jid}`)
  }
  const jobs = Object.entries(FORMS).map(([name, span]) =>
    hq.job(name, { unique: { by, for: span }, retryIn: () => random() / 2, queue: 'default' }, async ({ payload }) => {
      await sleep(dice(100))
      if (name === 'UntilSuccess' || name === 'ForHours') await checkLock(payload)
      const n = dice(10)
      if (n < 2) throw new Error('fails')
      // A snoozed job looks like one that has never started, and that one must have its lock.
      if (n === 2 && name === 'UntilSuccess') throw new Snooze(0)
    }),
  )
  const worker = hq.worker({ queues: ['default'], concurrency: 3, leaseSeconds: 1, pollInterval: 0.02, timeout: 1 })
  await worker.start()

  /** Resolves with the jids of one or several pushes, by key. */
  async function push(job, key) {
    if (dice(3) === 0) return [[key, await job.performIn(random() / 2, key, dice(1000))]]
    if (dice(4) !== 0) return [[key, await job.performAsync(key, dice(1000))]]
    const keys = [key, dice(KEYS), key]
    const jids = await job.performBulk(keys.map((one) => [one, dice(1000)]))
    return keys.map((one, i) => [one, jids[i]])
  }

  async function pushSome() {
    for (;;) {
      const Unique = oneOf(...jobs)
      const span = FORMS[Unique.name]
      // A lock that outlives its job has no job to replace.
      const onConflict = span === '2h' ? 'drop' : oneOf('drop', 'replace', 'debounce')
      const pushed = await push(Unique.set({ unique: { by, for: span, onConflict } }), dice(KEYS)).catch((thrown) => {
        // Another program removed the job that was to be replaced, and its lock is not released yet.
        if (thrown.code === 'UNIQUE_CONFLICT' || isBusy(thrown)) return []
        throw thrown
      })
      if (span === '2h') for (const [key, jid] of pushed) say(`pushed ${key} ${jid}`)
      await sleep(dice(10))
    }
  }

  for (let n = 0; n < 3; n++) pushSome()
})
