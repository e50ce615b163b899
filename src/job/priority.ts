/**
 * The name of a queue's priority: jobs with priority 3 of queue `mail` have the queue `p3:mail` in their payload. So every
 * program that moves a job, in Ruby too, keeps its priority. Jobs with priority 0 have the queue `mail`.
 */

import { readPayload } from './payload.ts'

const PREFIX = /^p[1-9]:./s
const P = 112
const COLON = 58

/** The highest priority; the lowest is 0. */
export const HIGHEST_PRIORITY = 9

/** Whether a name is that of a priority above 0. */
export function isPriorityName(name: string): boolean {
  return name.charCodeAt(0) === P && name.charCodeAt(2) === COLON && PREFIX.test(name)
}

/** Returns the queue of a name, without the priority. */
export function baseQueue(name: string): string {
  return isPriorityName(name) ? name.slice(3) : name
}

export function isPriority(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= HIGHEST_PRIORITY
}

export function priorityOf(name: string): number {
  return isPriorityName(name) ? Number(name[1]) : 0
}

/** Returns the name of a priority of a queue. A priority that `queue` names itself is replaced. */
export function priorityName(queue: string, priority: number): string {
  const base = baseQueue(queue)
  return priority === 0 ? base : `p${priority}:${base}`
}

/** Returns the queue of a job, without its priority. */
export function queueOfJob(text: string): string {
  const queue = readPayload(text)?.queue
  return typeof queue === 'string' ? baseQueue(queue) : ''
}
