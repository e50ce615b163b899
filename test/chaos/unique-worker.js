// One process that pushes and runs unique jobs: unique-worker.js URL SEED. Its clock is stepped again and again. (Plain
// JavaScript, for it is started often.)
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq, Snooze } from 'highkiq'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const [url, seed] = process.argv.slice(2)
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
const by = (key) => key
const Unique = hq.job('Unique', { unique: { by }, retryIn: 0, queue: 'default' }, async () => {
  await sleep(dice(20))
  const n = dice(10)
  if (n < 2) throw new Error('fails')
  if (n === 2) throw new Snooze(0)
})
const worker = hq.worker({ queues: ['default'], concurrency: 3, leaseSeconds: 1, pollInterval: 0.02, timeout: 1 })
await worker.start()
process.stdout.write('ready\n')
for (;;) {
  const key = dice(6)
  const some = Unique.set({ unique: { by, onConflict: oneOf('drop', 'replace', 'debounce') } })
  if (dice(3) === 0) await some.performIn(random() / 10, key, dice(1000))
  else if (dice(4) === 0)
    await some.performBulk([
      [key, 1],
      [dice(6), 2],
      [key, 3],
    ])
  else await some.performAsync(key, dice(1000))
  if (dice(20) === 0) ahead = (dice(7) - 3) * 600_000
  await sleep(dice(10))
}
