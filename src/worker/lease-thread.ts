/** The thread that renews a lease; see lease.ts. */

import { parentPort, workerData } from 'node:worker_threads'
import type { Renewer } from '../store/contract.ts'
import type { FromThread, ToThread } from './lease.ts'

interface OpenRenewer {
  renew(owner: string, seconds: number): Promise<boolean>
  close(): Promise<void>
}

const { renewer, seconds, owner: first } = workerData as { renewer: Renewer; seconds: number; owner: string }
const port = parentPort as NonNullable<typeof parentPort>
const tell = (message: FromThread) => port.postMessage(message)

let owner = first
let stopped = false
let wake = () => {}

port.on('message', (message: ToThread) => {
  if ('stop' in message) stopped = true
  else owner = message.renew
  wake()
})

const { openRenewer } = (await import(renewer.module)) as {
  openRenewer(options: Record<string, unknown>): Promise<OpenRenewer>
}
const open = await openRenewer(renewer.options)
while (!stopped) {
  const renewing = owner
  try {
    if (!(await open.renew(renewing, seconds)) && renewing === owner) tell({ lost: renewing })
  } catch (thrown) {
    tell({ error: thrown instanceof Error ? thrown.message : String(thrown) })
  }
  if (stopped) break
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, (seconds * 1000) / 3)
    wake = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}
await open.close()
port.close()
