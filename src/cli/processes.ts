/** Shared by commands about running workers: signals by identity, and the queues that are served. */

import type { Highkiq, Process } from '../index.ts'
import { type AppOptions, quoted, withExistingStore } from './open-app.ts'
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

/** Warns about queues that jobs name and no process serves. `own` are the queues of the logging worker, as for `-q`. */
export function adviceFor(queues: readonly string[], own: readonly string[] = []): string {
  const named = queues.length === 1 ? `the queue ${queues[0]}` : `the queues ${queues.join(', ')}`
  const list = [...own, ...queues].map((queue) => `-q ${quoted(queue)}`).join(' ')
  return `no running process serves ${named}, which jobs of the app use: start a worker with ${list}, or with -q '*'`
}

/** Returns the queues that running processes serve, Sidekiq's included. */
export async function served(hq: Highkiq): Promise<Set<string>> {
  const names = new Set<string>()
  for await (const { queues, capsules, isQuiet } of hq.processes()) {
    if (isQuiet) continue
    for (const name of queues) names.add(name)
    for (const { weights } of Object.values(capsules)) for (const name of Object.keys(weights)) names.add(name)
  }
  return names
}
