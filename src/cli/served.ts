import type { Highkiq } from '../index.ts'
import { quoted } from './open-app.ts'

/** A warning about queues that jobs name and no process serves. `own`: what the worker serves that logs it, as `-q` has it. */
export function adviceFor(queues: readonly string[], own: readonly string[] = []): string {
  const named = queues.length === 1 ? `the queue ${queues[0]}` : `the queues ${queues.join(', ')}`
  const list = [...own, ...queues].map((queue) => `-q ${quoted(queue)}`).join(' ')
  return `no live process serves ${named}, which jobs of the app name: start a worker with ${list}, or with -q '*'`
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
