// The jobs of the chaos tests (plain JavaScript, for their processes are started often): each leaves a line in its process's own file, so that its effect survives a SIGKILL.
import { closeSync, openSync, writeSync } from 'node:fs'
import { BusinessFailure, Discard, Highkiq, Kill, Release, Snooze } from 'highkiq'

export function chaosApp(url, folder) {
  // No jitter: a retry comes as soon as it can.
  const hq = new Highkiq({ url, random: () => 0 })
  const note = notesOf(folder)
  // What it does depends on its text alone, so that it does the same again when its end was lost.
  const handler = async (ctx, /** @type {number} */ n, /** @type {string} */ kind) => {
    await pause(n)
    note(`ran ${n} ${Date.now()}`)
    endAs(kind, n, ctx.payload)
    // Nothing in the text says that it was put off before.
    if (kind === 'snoozed' && isFirst(`${folder}/snoozed-${n}`)) throw new Snooze(0.1)
    if (kind === 'released' && isFirst(`${folder}/released-${n}`)) throw new Release()
  }
  // The same job may crash again and again.
  const options = { retry: 1, retryIn: () => 0.01, maxCrashes: 1000 }
  const define = (name, more = {}, run = handler) => hq.job(name, { ...options, ...more }, run)
  return { hq, note, handler, define, Plain: define('Plain'), Row: define('Row') }
}

/** Returns a function that appends a line to the file of this process. */
export function notesOf(folder) {
  let log
  return (line) => {
    log ??= openSync(`${folder}/notes-${process.pid}.log`, 'a')
    writeSync(log, `${line}\n`)
  }
}

/** Runs the jobs of an app of chaosApp until SIGTERM. */
export async function work({ hq, note }, concurrency) {
  hq.onError((error, about) => {
    if (error.code === 'LEASE_LOST' && about.owner) note(`lost ${about.owner}`)
    else if (process.env.HIGHKIQ_CHAOS_ERRORS) note(`# ${error.stack} ${JSON.stringify(about)}`.replaceAll('\n', ' '))
  })
  const worker = hq.worker({ concurrency: Number(concurrency), leaseSeconds: 1, timeout: 5 })
  hq.on('heartbeat', () => process.stdout.write('ready\n'))
  await worker.run()
  await hq.close()
}

/** Ends a run of job `n` as its kind does, unless that needs more than the job's text. */
export function endAs(kind, n, payload) {
  if (kind === 'broken' || (kind === 'once' && payload.retry_count === undefined)) throw new Error(kind)
  if (kind === 'killed') throw new Kill()
  if (kind === 'discarded') throw new Discard()
  if (kind === 'refused') throw new BusinessFailure(`${n} is refused`, { code: 'refused' })
}

/** Some jobs are in the middle of something when their process dies. */
function pause(n) {
  const ms = n % 20 === 0 ? 50 : n % 10 === 0 ? 5 : 0
  return ms > 0 ? new Promise((resume) => setTimeout(resume, ms)) : undefined
}

function isFirst(path) {
  try {
    closeSync(openSync(path, 'wx'))
    return true
  } catch {
    return false
  }
}
