// What the shop did before it was photographed: an hour of figures, a month of days, a deploy that broke something.
import { randomBytes } from 'node:crypto'
import { LABELS } from '../../dist/metrics/collector.js'
import { openDriver } from '../../dist/store/sqlite/file/open-driver.js'
import { JOBS } from './shop.js'

const MINUTE = 60_000
const DAY = 86_400_000
const MINUTES = 480
export const DEPLOYED_MINUTES_AGO = 24

/** Runs a minute: what is many by day is little by night. */
const RATES = {
  ChargeCard: 210,
  SyncStock: 980,
  UpdateSearch: 1400,
  ResizeImage: 240,
  DescribePhoto: 60,
  SendReceipt: 320,
  RenderInvoice: 170,
  BuildReport: 2,
}

export async function makePast({ store }, path, chance) {
  const now = Date.now()
  for (let ago = MINUTES; ago >= 0; ago--) {
    const at = now - ago * MINUTE
    // The last minute has only begun.
    const whole = ago === 0 ? (now % MINUTE) / MINUTE : 1
    const swing = 1 + 0.12 * Math.sin(ago / 9) + 0.07 * Math.sin(ago / 2.3)
    const isBroken = ago <= DEPLOYED_MINUTES_AGO && ago > DEPLOYED_MINUTES_AGO - 7
    const jobs = Object.entries(RATES).map(([name, rate]) => {
      const job = JOBS[name]
      const processed = Math.round(rate * swing * (0.93 + 0.14 * chance()) * (isBroken ? 0.62 : 1) * whole)
      const share = isBroken && name === 'SyncStock' ? 0.45 : job.fails
      const failed = Math.round(processed * share * (0.5 + chance()))
      return { name, processed, failed, ...runTimes(processed - failed, job.ms * (isBroken ? 1.6 : 1), chance) }
    })
    await store.metrics.record({ source: randomBytes(12).toString('hex'), number: 1, at, jobs })
  }
  await makeDays(path, now, chance)
}

/** Run times about so long, with the tail that they have. */
function runTimes(runs, ms, chance) {
  const histogram = LABELS.map(() => 0)
  let sum = 0
  const drawn = Math.min(runs, 40)
  for (let i = 0; i < drawn; i++) {
    const took = ms * Math.exp((chance() + chance() + chance() - 1.5) * 1.4)
    const bucket = LABELS.findIndex((label) => took < Number.parseFloat(label) * (label.endsWith('ms') ? 1 : 1000))
    histogram[bucket] += runs / drawn
    sum += took * (runs / drawn)
  }
  return { ms: Math.round(sum), histogram: histogram.map(Math.round) }
}

async function makeDays(path, now, chance) {
  const db = await openDriver(path)
  // The workers write beside.
  db.exec('PRAGMA busy_timeout = 10000')
  const set = db.prepare(`INSERT INTO hk_stat (day, processed, failed) VALUES (?, ?, ?)
    ON CONFLICT (day) DO UPDATE SET processed = processed + excluded.processed, failed = failed + excluded.failed`)
  let [processed, failed] = [0, 0]
  for (let ago = 29; ago >= 0; ago--) {
    const at = new Date(now - ago * DAY)
    const isWeekend = at.getUTCDay() % 6 === 0
    const day = Math.round(3_900_000 * (isWeekend ? 0.55 : 1) * (0.9 + 0.2 * chance()) * (ago === 0 ? 0.6 : 1))
    const bad = Math.round(day * (ago === 11 ? 0.045 : 0.004 + 0.004 * chance()))
    set.run(at.toISOString().slice(0, 10), day, bad)
    processed += day
    failed += bad
  }
  set.run('', processed, failed)
  db.close()
}
