/** Text for a terminal: numbers, paths, and columns of any script. */

import { relative, resolve, sep } from 'node:path'
import { styleText } from 'node:util'

export const count = (n) => n.toLocaleString('en')

/** Returns `1 row` or `5 rows`. */
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`

/** Formats seconds: `2.5 s`, `1 min 15 s`. */
export function duration(seconds) {
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

/** Formats a rate per second, with decimals below 10. */
export function rate(perSecond) {
  return `${perSecond >= 10 ? count(Math.round(perSecond)) : Number(perSecond.toFixed(1))}/s`
}

/** Quotes a word for a shell, if it needs quotes. */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Returns a path as you would type it in this folder. */
export function shown(path) {
  const near = relative('', path)
  return quoted(near === '' || near.startsWith(`..${sep}..`) ? resolve(path) : near)
}

/** Returns a function that colours text, if the stream shows colours and NO_COLOR does not forbid them. */
export function painter(out) {
  const colours = out.isTTY && out.hasColors()
  return (format, text) => (colours ? styleText(format, text) : text)
}

const segmenter = new Intl.Segmenter()
const WIDE =
  /\p{Emoji_Presentation}|\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{20000}-\u{3FFFD}]/u
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
const LEFT_TO_RIGHT_MARK = '\u200E'

/** Returns the columns that a text takes on a terminal. */
export function widthOf(text) {
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += segmentWidth(segment)
  return width
}

function segmentWidth(segment) {
  if (INVISIBLE.test(segment)) return 0
  return WIDE.test(segment) ? 2 : 1
}

/** Returns a text on one line, without control characters, cut to `width`. */
export function shorten(text, width) {
  const oneLine = text.replace(/[\p{Cc}\s]+/gu, ' ').replace(/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, '')
  // Keep the text after an Arabic or Hebrew one from being drawn into it.
  const ending = RIGHT_TO_LEFT.test(oneLine) ? LEFT_TO_RIGHT_MARK : ''
  if (widthOf(oneLine) <= width) return oneLine + ending
  let cut = ''
  let used = 1
  for (const { segment } of segmenter.segment(oneLine)) {
    used += segmentWidth(segment)
    if (used > width) break
    cut += segment
  }
  return `${cut.trimEnd()}…${ending}`
}

export function padEnd(text, width) {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text, width) {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}
