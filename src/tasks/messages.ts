/** Makes the messages of events, and puts them into words. The store keeps a code and parameters, so that any language works. */

import { formatPhrase } from '../i18n/phrase.js'
import { messageOf } from '../job/errors.ts'
import { cutMessage } from '../job/messages.ts'
import type { EventRecord, Message } from '../store/contract.ts'
import { type Language, TASK_TEXTS, type TaskTexts } from './languages/index.ts'

/** Codes are keys of indexes, and a report of the reasons lists them. */
const MOST_CODE_CHARACTERS = 200

/** Returns a code as a row has it: a longer one is cut. */
export function rowCode(code: string): string {
  return code.slice(0, MOST_CODE_CHARACTERS)
}

/** Returns the message of `ctx.message` or `hq.tasks.message`. */
export function appMessage(at: number, text: string): Message {
  return { at, code: 'message', params: { text: cutMessage(text) } }
}

/**
 * Returns the message of an error: `failed` for a BusinessFailure, `discarded` for a Discard, `split` in a call with several
 * rows, each of which now runs alone; otherwise `error`.
 */
export function errorMessage(at: number, code: 'failed' | 'error' | 'discarded' | 'split', error: unknown): Message {
  const { field } = (code === 'failed' ? error : {}) as { field?: unknown }
  return { at, code, params: { text: cutMessage(messageOf(error)), ...(typeof field === 'string' ? { field } : {}) } }
}

/** Returns a message as text. The app's own messages are not translated. */
export function messageText({ code, params }: Pick<Message, 'code' | 'params'>, language: Language = 'en'): string {
  if (code === 'message' || code === 'failed') {
    return params.field === undefined ? String(params.text) : `${params.field}: ${params.text}`
  }
  const phrase: string | undefined = TASK_TEXTS[language].messages[code as keyof TaskTexts['messages']]
  if (phrase === undefined) return `${code} ${JSON.stringify(params)}`
  const at = 'at' in params ? { at: new Date(Number(params.at)).toISOString() } : {}
  const texts = Object.entries({ ...params, ...at }).map(([name, value]) => [name, String(value)])
  return formatPhrase(phrase, Object.fromEntries(texts), language)
}

/** Returns an event's messages together with its start and end, in order. */
export function historyOf(event: EventRecord, language: Language = 'en'): { at: number; text: string }[] {
  const history = event.messages.map((message) => ({ at: message.at, text: messageText(message, language) }))
  // In front, because messages of the same millisecond came after the start.
  if (event.startedAt !== null) history.unshift({ at: event.startedAt, text: 'working' })
  if (event.finishedAt !== null && event.status === 'finished') history.push({ at: event.finishedAt, text: 'finished' })
  return history.sort((a, b) => a.at - b.at)
}
