/** Text in columns, on any terminal: whatever a cell of a stranger's file holds, it takes the room that it should. */

import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

/** Colours, where the stream shows them (and NO_COLOR does not forbid them). */
export type Paint = (format: Format, text: string) => string

export function painter(out: NodeJS.WriteStream): Paint {
  const colours = out.isTTY && out.hasColors()
  return (format, text) => (colours ? styleText(format, text) : text)
}

const segmenter = new Intl.Segmenter()
const WIDE =
  /\p{Emoji_Presentation}|\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{20000}-\u{3FFFD}]/u
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}]/u
const LEFT_TO_RIGHT_MARK = '\u200E'

/** How many places a text takes. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += segmentWidth(segment)
  return width
}

function segmentWidth(segment: string): number {
  if (INVISIBLE.test(segment)) return 0
  return WIDE.test(segment) ? 2 : 1
}

/** On one line, without anything that could command the terminal, and no wider than `width`. */
export function shorten(text: string, width: number): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').replace(/[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, '')
  // What follows an Arabic or Hebrew text must not be drawn into it.
  const mark = RIGHT_TO_LEFT.test(line) ? LEFT_TO_RIGHT_MARK : ''
  if (widthOf(line) <= width) return line + mark
  let cut = ''
  let used = 1
  for (const { segment } of segmenter.segment(line)) {
    used += segmentWidth(segment)
    if (used > width) break
    cut += segment
  }
  return `${cut.trimEnd()}…${mark}`
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}
