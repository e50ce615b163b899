/** What a stored message says, in English. The store keeps codes and parameters, so that other languages can follow. */

import { messageOf } from '../job/errors.ts'
import type { EventRecord, Message } from '../store/contract.ts'

const CHARACTERS = 2000

const cut = (text: string) => (text.length > CHARACTERS ? `${text.slice(0, CHARACTERS - 1)}…` : text)

/** What a handler says with `ctx.message`, or somebody from outside. */
export function said(at: number, text: string): Message {
  return { at, code: 'message', params: { text: cut(text) } }
}

/** The business said no. */
export function refused(at: number, error: unknown): Message {
  const { field } = error as { field?: unknown }
  return {
    at,
    code: 'failed',
    params: { text: cut(messageOf(error)), ...(typeof field === 'string' ? { field } : {}) },
  }
}

/** The program broke. */
export function broke(at: number, error: unknown): Message {
  return { at, code: 'error', params: { text: cut(messageOf(error)) } }
}

/** The call broke in which it was one of several rows. */
export function apart(at: number, error: unknown): Message {
  return { at, code: 'apart', params: { text: cut(messageOf(error)) } }
}

const WORDS: Record<string, (params: Record<string, unknown>) => string> = {
  message: ({ text }) => String(text),
  failed: ({ text, field }) => (field === undefined ? String(text) : `${field}: ${text}`),
  error: ({ text }) => `error: ${text}`,
  apart: ({ text }) => `the call with several rows broke: ${text}; from now on this row runs alone`,
  retry: ({ count, at }) => `waiting for retry ${count} at ${new Date(Number(at)).toISOString()}`,
  discarded: ({ text }) => `discarded: ${text}`,
  stopped: () => 'stopped by client middleware',
  cancelled: () => 'cancelled',
  expired: () => 'dropped: it could not begin in time',
  interrupted: () => 'interrupted: its worker was stopped, it goes back to its queue',
  restored: ({ stalls }) => `its process died (${stalls} in a row), it goes back to its queue`,
  stalled: ({ stalls }) => `its process died ${stalls} times in a row: given up`,
  deleted: () => 'deleted by hand',
  killed: () => 'killed by hand',
  requeued: () => 'sent to its queue by hand',
  lost: () => 'error: its job is nowhere to be found',
  dead: () => 'its job is in the dead set: another program put it there',
  foreign: () => 'taken by a worker that does not tell how a task goes: whether it ran is not known',
  tolerance: ({ rejected, ended }) => `${rejected} of ${ended} rows were rejected: more than is tolerated`,
  dropped: ({ messages }) => `(${messages} messages are not kept)`,
}

export function wordsOf({ code, params }: Message): string {
  return WORDS[code]?.(params) ?? `${code} ${JSON.stringify(params)}`
}

/** All of an event's life that is known, in order: what was stored, and the plain steps that its record tells. */
export function lifeOf(event: EventRecord): { at: number; text: string }[] {
  const life = event.messages.map((message) => ({ at: message.at, text: wordsOf(message) }))
  // In front, for what is said within the same millisecond came after it.
  if (event.startedAt !== null) life.unshift({ at: event.startedAt, text: 'working' })
  if (event.finishedAt !== null && event.status === 'finished') life.push({ at: event.finishedAt, text: 'finished' })
  return life.sort((a, b) => a.at - b.at)
}
