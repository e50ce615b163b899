// Processes that push and run unique jobs: the arguments of each seed are URL and SEED. Their clocks are stepped again and
// again. (Plain JavaScript, for they are started often.)
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, Snooze } from 'highkiq'
import { forEachSeed } from './seed-workers.js'
import { FORMS } from './unique-forms.js'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const KEYS = 12
const by = (key) => key

await forEachSeed(async ([url, seed], say) => {
  let state = Number(seed)
  const random = () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
  const dice = (n) => Math.floor(random() * n)
  const oneOf = (...values) => values[dice(values.length)]

  let ahead = 0
  const hq = new Highkiq({ url, clock: { now: () => Date.now() + ahead }, logger: SILENT })
  // A killed neighbour, and a store that is closed while this process stops.
  hq.onError(() => {})
  const jobs = Object.entries(FORMS).map(([name, span]) =>
    hq.job(name, { unique: { by, for: span }, retryIn: () => random() / 2, queue: 'default' }, async () => {
      await sleep(dice(100))
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
        if (thrown.code === 'UNIQUE_CONFLICT') return []
        throw thrown
      })
      if (span === '2h') for (const [key, jid] of pushed) say(`${key} ${jid}`)
      if (dice(20) === 0) ahead = (dice(7) - 3) * 600_000
      await sleep(dice(10))
    }
  }

  for (let n = 0; n < 3; n++) pushSome()
})
