/** Formats the messages of a task: Highkiq's own in the language of the viewer, those of the app unchanged. */

import { t } from '../i18n/index.ts'
import { relative } from './time.ts'

const WAITS = /^waiting for retry (\d+) at (\d{4}-\S+Z)$/

export function messageText(text: string): string {
  const [, n, at] = WAITS.exec(text) ?? []
  return n === undefined || at === undefined ? text : t('task.waits', { n: Number(n), at: relative(at) })
}

/** Returns the last message; while a row waits for its retry, with the reason. */
export function lastMessageText(messages: readonly { text: string }[]): string | undefined {
  const texts = messages.map(({ text }) => text).filter((text) => text !== 'working')
  const last = texts.at(-1)
  return last !== undefined && WAITS.test(last) ? texts.slice(-2).map(messageText).join('; ') : last
}
