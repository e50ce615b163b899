/** The queues that running workers serve. */

import { describeUnserved, workCommand } from '../app/unserved-queues.ts'
import type { Highkiq, QueueOption } from '../index.ts'
import { quoted } from '../job/shell.ts'
import { type AppOptions, sameApp } from './open-app.ts'

/** Says how to serve these queues with `highkiq work`. `own` are the queues of the worker that says it. */
export function adviceFor(queues: readonly string[], own: readonly QueueOption[] = []): string {
  const list = [...own.map(shownQueue), ...queues].map((queue) => `-q ${quoted(queue)}`).join(' ')
  return `${describeUnserved(queues)}: start a worker with ${list}, or with -q '*'`
}

/** Formats a queue as `-q` takes it. */
export function shownQueue(queue: QueueOption): string {
  const [name, weight] = typeof queue === 'string' ? queue.split(',') : queue
  return Number(weight ?? 0) > 1 ? `${name},${weight}` : `${name}`
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

/** Returns what to do when no running process serves the queue of a task, or undefined when one does. */
export async function unservedHint(
  hq: Highkiq,
  id: string,
  queue: string,
  options: AppOptions,
): Promise<string | undefined> {
  if ((await served(hq)).has(queue)) return undefined
  const app = sameApp(options)
  return `no worker serves the queue ${queue}: start one with \`${workCommand([queue], app)}\`, or run its jobs until the task has ended with \`highkiq task show ${id} --work${app}\``
}
