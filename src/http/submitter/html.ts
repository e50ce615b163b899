/** Words and data as HTML: data never is markup, nor longer or stranger than a line of a page. */

import { escaped } from '../server/html-page.ts'
import type { Word } from '../server/i18n/index.ts'
import type { Viewer } from '../server/viewer.ts'

/** Characters of one piece of data on the page; the whole of it is in the file. */
const MOST = 240

/** Text as people read it: cut, and what has no shape of its own, or turns others around, with one. */
export function readable(text: string, most = MOST): string {
  const start = text.length > most ? `${text.slice(0, most)}…` : text
  return start
    .toWellFormed()
    .replace(/[\t\n\r]+/g, ' ')
    .replace(/[\p{Cc}\u202d\u202e]/gu, (c) => (c < '\x20' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : '\ufffd'))
}

/** A piece of data: it turns nothing around it. */
export function data(text: string, most?: number): string {
  return `<bdi>${escaped(readable(text, most))}</bdi>`
}

/** A phrase with numbers, and with pieces of HTML in the place of its other names. */
export function phrase(
  { say }: Viewer,
  word: Word,
  numbers: Record<string, number> = {},
  pieces: Record<string, string> = {},
): string {
  return escaped(say(word, numbers)).replace(/\{(\w+)\}/g, (whole, name: string) => pieces[name] ?? whole)
}

/**
 * Attributes of an element of which there may be news: the page's script takes what is in it from a newer page; of a
 * `shell` only whether it is there.
 */
export function fresh(part: string, isHidden = false, kind: '' | 'shell' = ''): string {
  return `data-part="${part}" data-fresh="${kind}"${isHidden ? ' hidden' : ''}`
}
