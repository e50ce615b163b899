/** The messages between a worker and the threads of its jobs. All of them must survive structured cloning. */

import type { AbortCode, Progress } from '../../job/context.ts'
import { classOf, messageOf } from '../../job/errors.ts'
import type { ActiveJobEnvelope, Payload } from '../../job/payload.ts'

export interface ThreadData {
  /** The URLs of the files that define the jobs of the app. */
  files: readonly string[]
  /** The URL of the store, when it is not the one in the options of the app. */
  url: string | undefined
  /** The store is a database in the memory of the worker, which a thread can't open. */
  inMemory: boolean
  /** One 32-bit word, not 0 when the job should end. A handler that blocks its event loop sees it, too. */
  interrupted: SharedArrayBuffer
}

export interface Run {
  /** The name of the definition whose handler runs: that of the class, or of the class it wraps. */
  job: string
  payload: Payload
  queue: string
  args: unknown[]
  task: { id: string; index: number; indexes: readonly number[] } | undefined
  activeJob: ActiveJobEnvelope | undefined
}

export type Level = 'debug' | 'info' | 'warn' | 'error'

export type ToThread = { run: Run } | { abort: { code: AbortCode; message: string } } | { close: true }
export type FromThread =
  /** The files are loaded, or loading failed. */
  | { loaded: true }
  | { broken: ErrorParts }
  | { done: { result: unknown; problem?: string } }
  | { failed: ErrorParts }
  | { log: { level: Level; about: object; message: string | undefined } }
  | { message: { text: string; row: number | undefined } }
  | { progress: Progress }

/** The parts of an error: cloning it would lose its class and its own members. */
export interface ErrorParts {
  isError: boolean
  class: string
  message: string
  stack: string | undefined
  members: Record<string, unknown>
  /** The thrown value, if it is not an Error. */
  value?: unknown
  cause?: ErrorParts
  /** The failures of a BatchFailure: cloning a map of errors would lose their parts. */
  failures?: [key: unknown, failure: ErrorParts][]
}

const MAX_CAUSES = 10

/** Never throws. */
export function errorParts(thrown: unknown, depth = 0): ErrorParts {
  const about = { class: classOf(thrown), message: messageOf(thrown) }
  try {
    if (!(thrown instanceof Error)) {
      return {
        ...about,
        isError: false,
        stack: undefined,
        members: {},
        value: cloneable(thrown) ? thrown : about.message,
      }
    }
    const isApart = (name: string, value: unknown) =>
      name === 'cause' || name === 'name' || (name === 'failures' && value instanceof Map)
    const members = Object.entries(thrown).filter(([name, value]) => !isApart(name, value) && cloneable(value))
    const parts = { ...about, isError: true, stack: thrown.stack, members: Object.fromEntries(members) }
    const { cause, failures } = thrown as Error & { failures?: unknown }
    if (depth === MAX_CAUSES) return parts
    return {
      ...parts,
      ...(cause === undefined ? {} : { cause: errorParts(cause, depth + 1) }),
      ...(failures instanceof Map
        ? { failures: Array.from(failures, ([key, failure]) => [key, errorParts(failure, depth + 1)]) }
        : {}),
    }
  } catch {
    return { ...about, isError: true, stack: undefined, members: {} }
  }
}

export function putTogether(parts: ErrorParts): unknown {
  const { isError, class: name, message, stack, members, value, cause, failures } = parts
  if (!isError) return value
  const error = new Error(message, cause && { cause: putTogether(cause) })
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true })
  if (stack !== undefined) error.stack = stack
  if (failures) members.failures = new Map(failures.map(([key, failure]) => [key, putTogether(failure)]))
  return Object.assign(error, members)
}

function cloneable(value: unknown): boolean {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}
