/** What a task wrote of a row by itself, in the reader's language; what the program said stays as it is. */

import { t } from '../i18n/index.ts'
import { relative } from './time.ts'

const WAITS = /^waiting for retry (\d+) at (\d{4}-\S+Z)$/

export function said(text: string): string {
  const [, n, at] = WAITS.exec(text) ?? []
  return n === undefined || at === undefined ? text : t('task.waits', { n: Number(n), at: relative(at) })
}

/** The last thing that was said; of a retry that is waited for, also why. */
export function lastSaid(messages: readonly { text: string }[]): string | undefined {
  const texts = messages.map(({ text }) => text).filter((text) => text !== 'working')
  const last = texts.at(-1)
  return last !== undefined && WAITS.test(last) ? texts.slice(-2).map(said).join('; ') : last
}
