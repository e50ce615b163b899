/** What a stored message says. The store keeps codes and parameters, so that it can be said in any language. */

import { messageOf } from '../job/errors.ts'
import type { EventRecord, Message } from '../store/contract.ts'
import { said as phraseIn } from '../words/phrase.js'
import { type Language, TASK_WORDS, type TaskWords } from './languages/index.ts'

const CHARACTERS = 2000

const cut = (text: string) => (text.length > CHARACTERS ? `${text.slice(0, CHARACTERS - 1)}…` : text)

/** What a handler says with `ctx.message`, or somebody from outside. */
export function appMessage(at: number, text: string): Message {
  return { at, code: 'message', params: { text: cut(text) } }
}

/** The business said no. */
export function failureMessage(at: number, error: unknown): Message {
  const { field } = error as { field?: unknown }
  return {
    at,
    code: 'failed',
    params: { text: cut(messageOf(error)), ...(typeof field === 'string' ? { field } : {}) },
  }
}

/** The program broke. */
export function errorMessage(at: number, error: unknown): Message {
  return { at, code: 'error', params: { text: cut(messageOf(error)) } }
}

/** The call broke in which it was one of several rows. */
export function splitMessage(at: number, error: unknown): Message {
  return { at, code: 'apart', params: { text: cut(messageOf(error)) } }
}

/** A message in words. What the app said stays as the app said it. */
export function messageText({ code, params }: Message, language: Language = 'en'): string {
  if (code === 'message' || code === 'failed') {
    return params.field === undefined ? String(params.text) : `${params.field}: ${params.text}`
  }
  const phrase: string | undefined = TASK_WORDS[language].messages[code as keyof TaskWords['messages']]
  if (phrase === undefined) return `${code} ${JSON.stringify(params)}`
  const at = 'at' in params ? { at: new Date(Number(params.at)).toISOString() } : {}
  const texts = Object.entries({ ...params, ...at }).map(([name, value]) => [name, String(value)])
  return phraseIn(phrase, Object.fromEntries(texts), language)
}

/** All of an event's life that is known, in order: what was stored, and the plain steps that its record tells. */
export function historyOf(event: EventRecord, language: Language = 'en'): { at: number; text: string }[] {
  const life = event.messages.map((message) => ({ at: message.at, text: messageText(message, language) }))
  // In front, for what is said within the same millisecond came after it.
  if (event.startedAt !== null) life.unshift({ at: event.startedAt, text: 'working' })
  if (event.finishedAt !== null && event.status === 'finished') life.push({ at: event.finishedAt, text: 'finished' })
  return life.sort((a, b) => a.at - b.at)
}
