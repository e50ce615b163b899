/** Phrases and data as HTML. Data is escaped, cut, and made printable. */

import { escaped } from '../server/html-page.ts'
import type { Word } from '../server/i18n/index.ts'
import type { Viewer } from '../server/viewer.ts'

/** The most characters of a value on the page; the report has the whole value. */
const MOST = 240

/** Cuts a text, and replaces control characters and bidirectional overrides with visible ones. */
export function readable(text: string, most = MOST): string {
  const start = text.length > most ? `${text.slice(0, most)}…` : text
  return start
    .toWellFormed()
    .replace(/[\t\n\r]+/g, ' ')
    .replace(/[\p{Cc}\u202d\u202e]/gu, (c) => (c < '\x20' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\ufffd'))
}

/** Returns data as HTML that is isolated from the text direction around it. */
export function data(text: string, most?: number): string {
  return `<bdi>${escaped(readable(text, most))}</bdi>`
}

/** Returns a phrase as HTML, with numbers and with HTML for its other placeholders. */
export function phrase(
  { say }: Viewer,
  word: Word,
  numbers: Record<string, number> = {},
  pieces: Record<string, string> = {},
): string {
  return escaped(say(word, numbers)).replace(/\{(\w+)\}/g, (whole, name: string) => pieces[name] ?? whole)
}

/**
 * Returns the attributes of an element that the script of the page updates from a newer page: its content, or for a
 * `shell` only whether it is hidden.
 */
export function fresh(part: string, isHidden = false, kind: '' | 'shell' = ''): string {
  return `data-part="${part}" data-fresh="${kind}"${isHidden ? ' hidden' : ''}`
}
