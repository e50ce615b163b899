// The jobs of the chaos tests (plain JavaScript, for their processes are started often): each leaves a line in its process's own file, so that its effect survives a SIGKILL.
import { openSync, writeSync } from 'node:fs'
import { BusinessFailure, Highkiq } from 'highkiq'

export function chaosApp(url, folder) {
  // No jitter: a retry comes as soon as it can. And no end to stalls: the same job may be hit again and again.
  const hq = new Highkiq({ url, random: () => 0 })
  let log
  const effect = (line) => {
    log ??= openSync(`${folder}/effects-${process.pid}.log`, 'a')
    writeSync(log, `${line}\n`)
  }
  const Plain = hq.job('Plain', { retryIn: () => 0.01, maxStalls: 1000 }, async (ctx, /** @type {number} */ n) => {
    await pause(n)
    effect(`plain ${n}`)
    // Some fail at their first attempt and succeed at the second.
    if (n % 50 === 7 && ctx.attempt === 1) throw new Error('once')
  })
  const Row = hq.job('Row', { retryIn: () => 0.01, maxStalls: 1000 }, async (ctx, /** @type {number} */ n) => {
    await pause(n)
    effect(`row ${n}`)
    if (n % 100 === 3) throw new BusinessFailure(`row ${n} is refused`, { code: 'refused' })
    if (n % 50 === 9 && ctx.attempt === 1) throw new Error('once')
  })
  return { hq, Plain, Row }
}

/** Some jobs are in the middle of something when their process dies. */
function pause(n) {
  return n % 10 === 0 ? new Promise((resume) => setTimeout(resume, 5)) : undefined
}
