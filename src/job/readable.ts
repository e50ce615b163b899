/** Refuses JSON that Ruby's parser refuses or misreads, before it is stored: Ruby would lose such a job. */

import { Fault, HALF, type Key, MOST_LEVELS, pathOf, TOO_DEEP } from './args.ts'
import { HighkiqError } from './errors.ts'

/** A text must be this long to have too many levels: each level has an opening and a closing character. */
const SHORTEST_TOO_DEEP = 2 * (MOST_LEVELS + 1)

/** The place of a text in its job; the path in an error begins with `name`. */
export interface Place {
  name?: string
  /** Levels around the text in the whole job; default 0. */
  around?: number
}

/**
 * Checks JSON that was just written: it may have no half of a surrogate pair, and no more levels than Ruby reads. The
 * check costs next to nothing for a text without a fault.
 *
 * @throws INVALID_ARGS with `details.path` and `details.job`
 * @example checkReadable('{"args":["\\ud83d"]}', 'SyncJob') // SyncJob: args[0] has half of a surrogate pair …
 */
export function checkReadable(text: string, job: string, { name, around = 0 }: Place = {}): void {
  // JSON.stringify escapes a surrogate only where its other half is missing.
  const maybeHalf = text.includes('\\ud')
  if (!maybeHalf && !isTooDeep(text, around)) return
  const trail: Key[] = name === undefined ? [] : [name]
  try {
    look(JSON.parse(text), around, trail)
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    const path = pathOf(trail)
    throw new HighkiqError('INVALID_ARGS', `${job}: ${path} ${thrown.says}`, { path, job })
  }
}

/** Returns whether the text has too many levels. Most texts have few brackets, and those are only counted. */
function isTooDeep(text: string, around: number): boolean {
  if (text.length < SHORTEST_TOO_DEEP - 2 * around) return false
  let brackets = around
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++brackets > MOST_LEVELS) return levelsOf(text) + around > MOST_LEVELS
    }
  }
  return false
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Returns the number of lists and objects around the deepest value of a JSON text. */
function levelsOf(text: string): number {
  let levels = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === QUOTE) {
      for (at++; text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++
    } else if (character === 0x5b || character === 0x7b) {
      deepest = Math.max(deepest, ++levels)
    } else if (character === 0x5d || character === 0x7d) {
      levels--
    }
  }
  return deepest
}

function look(value: unknown, levels: number, trail: Key[]): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw new Fault(HALF)
  if (typeof value !== 'object' || value === null) return
  if (levels >= MOST_LEVELS) {
    trail.length = Math.min(trail.length, 2) // the whole path would be a screenful
    throw new Fault(TOO_DEEP)
  }
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    trail.push(key)
    if (typeof key === 'string' && !key.isWellFormed()) throw new Fault(HALF)
    look(inner, levels + 1, trail)
    trail.pop()
  }
}
