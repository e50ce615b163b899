/** The thread that renews a lease, and watches whether the main thread's event loop turns; see lease.ts. */

import { parentPort, workerData } from 'node:worker_threads'
import { describe, fieldsOf } from './block.ts'
import { EventLoopMonitor } from './event-loop-monitor.ts'
import { EventLoopReader } from './event-loop-state.ts'
import type { FromThread, ThreadData, ToThread } from './lease-renewer.ts'
import { warnOnStderr } from './stderr-line.ts'

interface OpenRenewer {
  renew(owner: string, seconds: number): Promise<boolean>
  close(): Promise<void>
}

const { renewer, seconds, owner: first, memory, pace, maxBlockSeconds, clockOffset, ...data } = workerData as ThreadData
const renewedAt = new Float64Array(data.renewedAt)
const mainNow = () => Number(process.hrtime.bigint()) / 1e6 + clockOffset
const port = parentPort as NonNullable<typeof parentPort>
const tell = (message: FromThread) => port.postMessage(message)

let owner = first
let stopped = false
/** Ends the wait for the renewal under way: it is useless when the worker stops. */
let stopRenewal = () => {}
/** In a row; the first is told. */
let failures = 0
let wake = () => {}

const watch = new EventLoopMonitor(
  new EventLoopReader(memory),
  { ...pace, maxBlockSeconds, now: performance.now() },
  (event, block) => {
    if (event === 'over') {
      tell({ unblocked: block })
      // It may have been given up, and nobody have taken its jobs yet.
      wake()
      return
    }
    const end = event === 'gave-up' ? ': its lease is not renewed any more, its jobs go to others' : ''
    warnOnStderr(fieldsOf(block), `event loop ${describe(block)}${end}`)
  },
)
const looking = setInterval(() => watch.look(performance.now()), pace.stepMs)

port.on('message', (message: ToThread) => {
  if ('stop' in message) {
    stopped = true
    // The last renewal may take its time, and nobody beats any more.
    clearInterval(looking)
    stopRenewal()
  } else if ('leaveIn' in message) watch.leaveAt(performance.now() + message.leaveIn)
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
    open.renew(renewing, seconds).then(resolve, reject)
  })
}

while (!stopped) {
  const renewing = owner
  try {
    if (!watch.gaveUp) {
      const sentAt = mainNow()
      const isHeld = await renew(renewing)
      // A late answer about an earlier owner says nothing about this one.
      if (renewing === owner) {
        if (isHeld) renewedAt[0] = sentAt
        else if (!stopped) tell({ lost: renewing })
      }
    }
    failures = 0
  } catch (thrown) {
    if (failures++ === 0) tell({ error: thrown instanceof Error ? thrown.message : String(thrown) })
  }
  if (stopped) break
  await new Promise<void>((resolve) => {
    // When the store comes back after an outage, who is late with this is taken for dead.
    const timer = setTimeout(resolve, (seconds * 1000) / (failures > 0 ? 30 : 3))
    wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}
await open.close()
port.close()
