import { Highkiq } from 'highkiq'
import { chance } from '../conformance/chance.js'

export const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }
const MS_BETWEEN_STEPS = 40
const PART_WITH_THREAD = 1 / 8
/** With this code ends a process whose store did not answer in time. */
export const BUSY_CODE = 75

/** Whether an error says that the store did not answer in time, as on a busy machine. */
export function isBusy(thrown) {
  return ['STORE_TIMEOUT', 'STORE_UNREACHABLE', 'PUSH_FAILED'].includes(thrown?.code)
}

/**
 * Works for each seed of a process of `shared-crew.ts`. `work` gets the arguments of a seed, a function that writes a line to
 * it, and random numbers. It resolves when the seed's worker has started.
 */
export async function forEachSeed(work) {
  const end = (thrown) => {
    console.error(isBusy(thrown) ? `${thrown.code}: ${thrown.message}` : thrown)
    process.exit(isBusy(thrown) ? BUSY_CODE : 1)
  }
  process.on('uncaughtException', end)
  const seeds = JSON.parse(process.argv[2])
  const sayFor = (n) => (line) => process.stdout.write(`${n} ${line}\n`)
  await Promise.all(
    seeds.map(async ({ args, random }, n) => {
      await work(args, sayFor(n), chance(random))
      sayFor(n)('ready')
    }),
  ).catch(end)
}

/**
 * Returns the app of a seed. Its clock is set again and again, to at most `seconds` before or after the right time. Only
 * some of the apps renew their leases in a thread, because a thread costs more than all else that a process does for a seed.
 */
export function seedApp(url, random, { seconds = 2, ...options } = {}) {
  const hq = new Highkiq({ url, logger: quiet, clock: steppedClock(random, seconds), ...options })
  if (random() >= PART_WITH_THREAD) hq.store.workers.renewer = () => null
  return hq
}

function steppedClock(random, seconds) {
  let ahead = 0
  setInterval(() => {
    ahead = Math.floor((random() * 2 - 1) * seconds * 1000)
  }, MS_BETWEEN_STEPS).unref()
  return { now: () => Date.now() + ahead }
}
