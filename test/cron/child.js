// A worker process of the cron tests: child.js URL CLOCK OPTIONS. It takes no jobs; its clock is the time in the file
// CLOCK. OPTIONS: entries, skew (ms), fault, dies ({ at: how many ticks, when }). (Plain JavaScript: it is started often.)
import { readFileSync, writeSync } from 'node:fs'
import { Highkiq } from 'highkiq'
import { openStore } from '#dist/store/open.js'

const [url, clockFile, options] = process.argv.slice(2)
const { entries, skew, fault, dies } = JSON.parse(options)

/** Read anew every few milliseconds. */
let time = 0
let readAt = -1
function now() {
  if (performance.now() > readAt + 3) {
    time = Number(readFileSync(clockFile, 'utf8')) + skew
    readAt = performance.now()
  }
  return time
}

// It ends with the process that started it, in whatever way that ends.
process.stdin.on('end', () => process.exit()).resume()

const store = openStore(url)
const die = () => process.kill(process.pid, 'SIGKILL')

const tickStored = store.crons.tick.bind(store.crons)

/** What is broken on purpose. */
const tickWith = {
  async 'ticks are not compared'(name, tick, at) {
    const answer = await tickStored(name, tick, at)
    const [record] = answer === 'gone' ? await store.crons.list([name]) : []
    return record ? tickStored(name, { ...tick, from: record.tick }, at) : answer
  },
  async 'a tick and its job are two steps'(name, tick, at) {
    const answer = await tickStored(name, { ...tick, push: null }, at)
    if (dies && dies.when === 'between' && --dies.at === 0) die()
    if (answer === 'ok' && tick.push) await store.jobs.push([tick.push.item], at)
    return answer
  },
}[fault]

/** Dies at one of its ticks: before it is asked for, while it is, or when it is done. */
store.crons.tick = async (name, tick, at) => {
  const last = dies && dies.when !== 'between' && --dies.at === 0
  if (last && dies.when === 'before') die()
  const ticking = (tickWith ?? tickStored)(name, tick, at)
  if (last && dies.when === 'during') setImmediate(die)
  const answer = await ticking
  if (last && dies.when === 'after') die()
  return answer
}

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }
const hq = new Highkiq({
  store,
  clock: { now },
  logger: quiet,
})
// A machine that is busy keeps the file locked for too long: it is tried again.
hq.onError(() => {})

const Job = hq.job('Job', { queue: 'ticks' }, () => {})
for (const { name, spec, timeZone } of entries) {
  hq.cron(name, ruleOf(spec), Job, { timeZone: fault === 'zones are ignored' ? 'UTC' : timeZone, missed: 'all' })
}
await hq.worker({ queues: ['nobody'], concurrency: 1, pollInterval: 0.02 }).start()
writeSync(1, 'up\n')

/** The same times, but not as times that are named: an hour that comes twice runs twice, one that is skipped not at all. */
function ruleOf(spec) {
  if (fault !== 'what comes twice runs twice') return spec
  const [minute, hour, ...rest] = spec.split(' ')
  return [minute, /^\d+$/.test(hour) ? `${hour}-${hour}/1` : hour, ...rest].join(' ')
}
