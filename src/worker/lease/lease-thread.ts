/** The thread that renews a lease and monitors the event loop of the main thread; see lease-renewer.ts. */

import { parentPort, workerData } from 'node:worker_threads'
import { describe, fieldsOf } from './block.ts'
import { EventLoopMonitor } from './event-loop-monitor.ts'
import { EventLoopReader } from './event-loop-state.ts'
import type { FromThread, ThreadData, ToThread } from './lease-renewer.ts'
import { warnOnStderr } from './stderr-line.ts'

interface OpenRenewer {
  renew(owner: string, seconds: number, isWanted: () => boolean): Promise<boolean>
  close(): Promise<void>
}

const { renewer, seconds, owner: first, memory, pace, maxBlockSeconds, clockOffset, ...data } = workerData as ThreadData
const renewedAt = new Float64Array(data.renewedAt)
const mainNow = () => Number(process.hrtime.bigint()) / 1e6 + clockOffset
const port = parentPort as NonNullable<typeof parentPort>
const send = (message: FromThread) => port.postMessage(message)

let owner = first
let stopped = false
/** Ends the wait for the renewal under way: it is useless when the worker stops. */
let stopRenewal = () => {}
/** The number of renewals that failed in a row; only the first is reported. */
let failures = 0
let wake = () => {}

const monitor = new EventLoopMonitor(
  new EventLoopReader(memory),
  { ...pace, maxBlockSeconds, now: performance.now() },
  (event, block) => {
    if (event === 'over') {
      send({ unblocked: block })
      // If no other worker has claimed the lease yet, it can still be renewed.
      wake()
      return
    }
    const end = event === 'gave-up' ? ': its lease is no longer renewed, and its jobs go to other workers' : ''
    warnOnStderr(fieldsOf(block), `event loop ${describe(block)}${end}`)
  },
)
const checkTimer = setInterval(() => monitor.check(performance.now()), pace.stepMs)

port.on('message', (message: ToThread) => {
  if ('stop' in message) {
    stopped = true
    // The main thread beats no more, while the last renewal may take long.
    clearInterval(checkTimer)
    stopRenewal()
  } else if ('stopIn' in message) monitor.stopAt(performance.now() + message.stopIn)
  else owner = message.renew
  wake()
})

const { openRenewer } = (await import(renewer.module)) as {
  openRenewer(options: Record<string, unknown>): Promise<OpenRenewer>
}
const open = await openRenewer(renewer.options)

/** Renews the lease once; resolves with false when it is lost, and when the worker stops. */
function renew(renewing: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    stopRenewal = () => resolve(false)
    open.renew(renewing, seconds, () => !monitor.gaveUp).then(resolve, reject)
  })
}

while (!stopped) {
  const renewing = owner
  try {
    if (!monitor.gaveUp) {
      const sentAt = mainNow()
      const isHeld = await renew(renewing)
      // A late answer about an earlier owner says nothing about this one.
      if (renewing === owner) {
        if (isHeld) renewedAt[0] = sentAt
        else if (!stopped && !monitor.gaveUp) send({ lost: renewing })
      }
    }
    failures = 0
  } catch (thrown) {
    if (failures++ === 0) send({ error: thrown instanceof Error ? thrown.message : String(thrown) })
  }
  if (stopped) break
  await new Promise<void>((resolve) => {
    // After an outage of the store, other workers take an owner that renews late for dead.
    const timer = setTimeout(resolve, (seconds * 1000) / (failures > 0 ? 30 : 3))
    wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}
await open.close()
// Deno's port has no `close`.
port.unref()
