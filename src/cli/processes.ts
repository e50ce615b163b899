/** The queues that running workers serve. */

import type { Highkiq } from '../index.ts'
import { quoted } from './open-app.ts'

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
