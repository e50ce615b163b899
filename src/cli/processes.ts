/** The queues that running workers serve. */

import { describeUnserved } from '../app/unserved-queues.ts'
import type { Highkiq, Process, QueueOption, QueueSummary } from '../index.ts'
import type { Orphans } from '../inspect/orphans.ts'
import { serves } from '../inspect/process.ts'
import { all } from '../job/json.ts'
import { io } from './io.ts'
import { type AppOptions, quoted, sameApp } from './open-app.ts'
import { plural } from './output.ts'

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
  const work = workCommand([queue], options)
  return `no worker serves the queue ${queue}: start one with \`${work}\`, or run its jobs until the task has ended with \`highkiq task show ${id} --work${sameApp(options)}\``
}

export function hasLease(owners: ReadonlySet<string>, { identity }: Process): boolean {
  return [...owners].some((owner) => owner.startsWith(identity))
}

/** Returns all processes, and those whose leases and heartbeats go on. `owners` are those whose leases go on. */
export async function liveProcesses(
  hq: Highkiq,
  owners: ReadonlySet<string>,
): Promise<{ processes: Process[]; live: Process[] }> {
  const processes = await all(hq.processes())
  const isLive = (process: Process) =>
    process.stateAt(hq.now()) !== 'silent' && (!process.ours || hasLease(owners, process))
  return { processes, live: processes.filter(isLive) }
}

/** Returns the queues with waiting jobs that none of these processes serves, the longest first. */
export function unservedWaiting(live: readonly Process[], queues: readonly QueueSummary[]): QueueSummary[] {
  const isServed = (name: string) => live.some((process) => !process.isQuiet && serves(process, name))
  return queues
    .filter(({ name, size, paused }) => size > 0 && !paused && !isServed(name))
    .sort((a, b) => b.size - a.size)
}

export function orphansText({ jobs, workers }: Orphans): string {
  return `${plural(jobs, 'job belongs', 'jobs belong')} to ${plural(workers, 'worker')} that died`
}

export function workCommand(queues: readonly string[], options: AppOptions): string {
  const named = queues.some((queue) => queue !== 'default') ? queues : []
  return `highkiq work${sameApp(options)}${named.map((queue) => ` -q ${quoted(queue)}`).join('')}`
}

/** Writes a line to standard error. */
export function say(text: string): void {
  // On a terminal, clear the progress bar first.
  io().stderr.write(`${io().stderr.isTTY ? '\r\x1b[K' : ''}highkiq: ${text}\n`)
}
