/** Shared by `highkiq quiet` and `highkiq stop`, which signal a worker by its identity. */

import type { Highkiq, Process } from '../index.ts'
import { type AppOptions, withExistingStore } from './open-app.ts'
import { print } from './output.ts'
import { all } from './show.ts'
import { CliError } from './usage.ts'

export function signalProcess(
  identity: string,
  options: AppOptions,
  send: (process: Process) => Promise<boolean>,
  told: string,
): Promise<void> {
  return withExistingStore(options, async (hq) => {
    if (!(await send(await processOf(hq, identity))))
      throw new CliError(`${identity} ended before it received the signal`)
    print(`${identity} ${told}`)
  })
}

async function processOf(hq: Highkiq, identity: string): Promise<Process> {
  const processes = await all(hq.processes())
  const found = processes.find((process) => process.identity === identity)
  if (found) return found
  const known = processes.map((process) => process.identity).join(', ')
  throw new CliError(`there is no process ${JSON.stringify(identity)} (running: ${known || 'none'})`)
}
