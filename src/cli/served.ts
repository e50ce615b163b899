import type { Highkiq } from '../index.ts'
import { quoted } from './open-app.ts'

/** A warning about a queue that jobs name and no process serves. */
export function adviceFor(queue: string): string {
  return `no live process serves the queue ${queue}, which jobs of the app name: start a worker with -q ${quoted(queue)}`
}

/** The queues that workers take from, ours and Ruby's. */
export async function served(hq: Highkiq): Promise<Set<string>> {
  const names = new Set<string>()
  for await (const { queues, capsules, isQuiet } of hq.processes()) {
    if (isQuiet) continue
    for (const name of queues) names.add(name)
    for (const { weights } of Object.values(capsules)) for (const name of Object.keys(weights)) names.add(name)
  }
  return names
}
