/** Phrases, data and icons as HTML. Data is escaped, cut, and made printable. */

import { LANGUAGES } from '../../i18n/phrase.js'
import { escaped } from '../server/html-page.ts'
import type { Viewer, Word } from '../server/viewer.ts'

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

/** The icons of a page, drawn once and used by name. */
export const SYMBOLS = `<svg width="0" height="0" class="defs" aria-hidden="true">
<symbol id="i-sun" viewBox="0 0 16 16"><circle cx="8" cy="8" r="2.8"/><path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9"/></symbol>
<symbol id="i-download" viewBox="0 0 16 16"><path d="M8 2.5v7.5M5 7.2 8 10.2l3-3M3 13.2h10"/></symbol>
<symbol id="i-upload" viewBox="0 0 16 16"><path d="M8 10.5V3M5 5.8l3-3 3 3M3 13.2h10"/></symbol>
<symbol id="s-enqueued" viewBox="0 0 14 14"><circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 1.92"/></symbol>
<symbol id="s-finished" viewBox="0 0 14 14"><circle cx="7" cy="7" r="6" fill="currentColor"/><path d="m4.4 7.2 1.8 1.8 3.4-3.8" fill="none" stroke="var(--surface)" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/></symbol>
<symbol id="s-failed" viewBox="0 0 14 14"><path d="M7 .9 13.1 7 7 13.1.9 7z" fill="currentColor" stroke="currentColor" stroke-width="1" stroke-linejoin="round"/><path d="M4.8 7h4.4" stroke="var(--surface)" stroke-width="1.6" stroke-linecap="round"/></symbol>
<symbol id="s-error" viewBox="0 0 14 14"><path d="M4.5 1h5L13 4.5v5L9.5 13h-5L1 9.5v-5z" fill="currentColor"/><path d="m5 5 4 4M9 5 5 9" stroke="var(--surface)" stroke-width="1.5" stroke-linecap="round"/></symbol>
<symbol id="s-cancelled" viewBox="0 0 14 14"><circle cx="7" cy="7" r="5.25" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M3.4 10.6 10.6 3.4" stroke="currentColor" stroke-width="1.5"/></symbol>
</svg>`

export function icon(name: string): string {
  return `<svg class="i" aria-hidden="true"><use href="#i-${name}"/></svg>`
}

export function shape(status: string): string {
  return `<svg viewBox="0 0 14 14" aria-hidden="true"><use href="#s-${status}"/></svg>`
}

/** Links that choose the language without a script; a cookie keeps the choice. @param search the query of the page */
export function languages(viewer: Viewer, search: URLSearchParams): string {
  const links = Object.entries(LANGUAGES).map(([tag, name]) => {
    const there = new URLSearchParams(search)
    there.set('lang', tag)
    const isThis = tag === viewer.language ? ' aria-current="true"' : ''
    return `<a href="?${escaped(String(there))}" lang="${tag}" hreflang="${tag}"${isThis}>${name}</a>`
  })
  return `<nav class="languages" aria-label="${phrase(viewer, 'language')}">${links.join('')}</nav>`
}
