// The jobs of the Node side, the same as in ruby/jobs.rb. (Plain JavaScript, for worker processes load it, too.)
import { setTimeout as sleep } from 'node:timers/promises'

/** Defines the jobs. They report their runs in Redis, in the lists `ran` and `began`. */
export function defineJobs(hq, redis) {
  const report = (type, about) =>
    redis.rpush(type, JSON.stringify({ by: 'node', pid: process.pid, ...about }, withLongIntegers))
  hq.job('Quick', async ({ jid, payload }, ...args) => {
    await report('ran', { jid, args, movedBy: payload.moved_by })
  })
  hq.job('Picky', { backtrace: true }, async ({ jid }, languages, ...args) => {
    if (languages.includes('node')) throw new RangeError('not in node: žluťoučký 🐎')
    await report('ran', { jid, args })
  })
  hq.job('Once', async ({ jid }, ...args) => {
    if (await redis.set(`failed:${jid}`, 1, 'NX')) throw new Error('the first time, it fails')
    await report('ran', { jid, args })
  })
  hq.job('Long', async ({ jid, signal }, key) => {
    await report('began', { jid, args: [key] })
    while (!(await redis.exists(key))) {
      signal.throwIfAborted()
      await sleep(20)
    }
    await report('ran', { jid, args: [key] })
  })
}

function withLongIntegers(_key, value) {
  return typeof value === 'bigint' ? `${value}` : value
}
