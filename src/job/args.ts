/**
 * Refuses arguments that JSON would silently change or drop, and names their path and a replacement. It also refuses JSON
 * that Ruby's parser refuses or misreads, because Ruby would lose such a job.
 */

import { isDeepStrictEqual, types } from 'node:util'
import { HighkiqError, messageOf } from './errors.ts'
import { FIRST_TOO_LONG } from './json.ts'

/** The deepest nesting of a whole job that Ruby's JSON parser reads: its `max_nesting`. */
export const MOST_LEVELS = 100
export const TOO_DEEP = `is nested deeper than the ${MOST_LEVELS} levels that Ruby reads of a whole job (98 inside args): pass flatter data, or an id to load it by`

/** From this many elements on the names of an array's properties are not listed. */
const MANY_ELEMENTS = 1000

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

/** JSON.stringify writes half of a surrogate pair as an escape that Ruby's parser refuses. */
export const HALF = 'has half of a surrogate pair, which is no character: pass its toWellFormed()'

export type Key = string | number

/**
 * Throws `INVALID_ARGS` (with `details.path` and `details.job`) on the first argument, or thing inside one, that JSON
 * can't carry faithfully. Strings, finite numbers, booleans, null, BigInts, arrays and plain objects can be carried;
 * so can an object without prototype, or from another realm. Non-enumerable properties are ignored, as JSON does.
 *
 * @example checkArgs([7, { when: new Date() }], 'SyncJob')
 * // HighkiqError: SyncJob: args[1].when is a Date: pass when.toISOString()
 */
export function checkArgs(args: unknown[], job: string): void {
  checkValue(args, 'args', job)
}

/**
 * Checks any other value of a job in the same way. `name` begins the path, `around` counts the levels around the value.
 */
export function checkValue(value: unknown, name: string, job: string, around = 1): void {
  const trail: Key[] = [name]
  try {
    check(value, [], trail, MOST_LEVELS - around)
  } catch (thrown) {
    // The trail still leads to the value, because nothing is popped after a throw.
    const path = pathOf(trail)
    const refuse = (says: string, options?: { cause: unknown }) =>
      new HighkiqError('INVALID_ARGS', `${job}: ${path} ${says}`, { path, job }, options)
    if (thrown instanceof Fault) throw refuse(thrown.says)
    throw refuse(`can't be read (${messageOf(thrown)}): pass plain data, without getters`, { cause: thrown })
  }
}

/** A fault without its path and job, which the caller adds. */
export class Fault {
  readonly says: string
  constructor(says: string) {
    this.says = says
  }
}

function check(value: unknown, holders: object[], trail: Key[], most: number): void {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new Fault(HALF)
      return
    case 'boolean':
      return
    case 'bigint':
      if (value >= FIRST_TOO_LONG || value <= -FIRST_TOO_LONG)
        throw new Fault('has more than 1,000 digits: pass it as a string')
      return
    case 'number':
      if (!Number.isFinite(value)) throw new Fault(`is ${value}: pass a finite number or null`)
      return
    case 'undefined':
      throw new Fault('is undefined: pass null or leave it out')
    case 'function':
      throw new Fault('is a function: pass its result, or a name that the job can look up')
    case 'symbol':
      throw new Fault('is a symbol: pass a string')
    case 'object':
      if (value !== null) checkObject(value, holders, trail, most)
  }
}

function checkObject(value: object, holders: object[], trail: Key[], most: number): void {
  const again = holders.indexOf(value)
  if (again >= 0) throw new Fault(`is ${pathOf(trail.slice(0, again + 1))} again, a cycle: pass an id instead`)
  if (holders.length >= most) {
    trail.length = Math.min(trail.length, 2) // the whole path would be a screenful
    throw new Fault(TOO_DEEP)
  }
  checkShape(value, trail)

  holders.push(value)
  if (Array.isArray(value)) checkElements(value, holders, trail, most)
  else {
    for (const key of Object.keys(value)) {
      trail.push(key)
      if (!key.isWellFormed()) throw new Fault(HALF)
      check((value as Record<string, unknown>)[key], holders, trail, most)
      trail.pop()
    }
  }
  holders.pop()
}

function checkElements(array: unknown[], holders: object[], trail: Key[], most: number): void {
  for (let i = 0; i < array.length; i++) {
    trail.push(i)
    const element = array[i]
    if (element === undefined && !(i in array)) throw new Fault('is a hole in a sparse array: pass null')
    check(element, holders, trail, most)
    trail.pop()
  }
  // There are no holes, so any further key is a name. To list a million indexes takes much memory, so a large array
  // is compared with its copy, which has no further keys.
  if (array.length > MANY_ELEMENTS && isDeepStrictEqual(array, array.slice())) return
  const keys = Object.keys(array)
  if (keys.length === array.length) return
  const extra = JSON.stringify(keys[array.length])
  throw new Fault(`is an array with the extra property ${extra}: pass [...${nameOf(trail, 'array')}]`)
}

/** Refuses an object that is more than its elements or its own enumerable string keys. */
function checkShape(value: object, trail: Key[]): void {
  if (!Array.isArray(value) && !isPlain(value)) throw new Fault(describeInstance(value, trail))
  if (hasToJson(value)) throw new Fault(`has a toJSON method: pass ${nameOf(trail, 'value')}.toJSON()`)
  for (const symbol of Object.getOwnPropertySymbols(value)) {
    if (!Object.prototype.propertyIsEnumerable.call(value, symbol)) continue
    throw new Fault(`has the symbol key ${String(symbol)}: use a string key or leave it out`)
  }
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  // The Object.prototype of another realm.
  return Object.getPrototypeOf(prototype) === null && prototype.constructor?.name === 'Object'
}

function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

/** For each kind of instance (of any realm): its test, its description, a name if its key is none, and a replacement. */
const KINDS: [is: (value: unknown) => boolean, what: string, name: string, instead: (name: string) => string][] = [
  [types.isDate, 'a Date', 'date', (date) => `pass ${date}.toISOString()`],
  [types.isMap, 'a Map', 'map', (map) => `pass Object.fromEntries(${map})`],
  [types.isSet, 'a Set', 'set', (set) => `pass [...${set}]`],
  [types.isPromise, 'a Promise', 'promise', () => 'await it first'],
  [types.isRegExp, 'a RegExp', 'regexp', (regexp) => `pass ${regexp}.source`],
  [types.isNativeError, 'an Error', 'error', (error) => `pass ${error}.message`],
  [Buffer.isBuffer, 'a Buffer', 'buffer', (buffer) => `pass ${buffer}.toString('base64')`],
  [types.isUint8Array, 'a Uint8Array', 'bytes', (bytes) => `pass Buffer.from(${bytes}).toString('base64')`],
  [types.isAnyArrayBuffer, 'an ArrayBuffer', 'bytes', (bytes) => `pass Buffer.from(${bytes}).toString('base64')`],
  [types.isTypedArray, 'a typed array', 'numbers', (numbers) => `pass [...${numbers}]`],
  [types.isBoxedPrimitive, 'a boxed primitive', 'value', (value) => `pass ${value}.valueOf()`],
]

function describeInstance(value: object, trail: Key[]): string {
  for (const [is, what, name, instead] of KINDS) {
    if (is(value)) return `is ${what}: ${instead(nameOf(trail, name))}`
  }
  const what = `is an instance of ${value.constructor?.name || 'an unnamed class'}`
  if (hasToJson(value)) return `${what}: pass ${nameOf(trail, 'value')}.toJSON()`
  return `${what}: pass a plain object, e.g. its id`
}

/** Returns how code names the value: by its own key, or by `other` if that is no identifier. */
function nameOf(trail: Key[], other: string): string {
  const key = trail.at(-1)
  return typeof key === 'string' && IDENTIFIER.test(key) ? key : other
}

export function pathOf([root, ...keys]: Key[]): string {
  let path = String(root)
  for (const key of keys) {
    if (typeof key === 'string' && IDENTIFIER.test(key)) path += `.${key}`
    else path += `[${JSON.stringify(key)}]`
  }
  return path
}

// Texts that Ruby reads ------------------------------------------------------------------------------------------

/** Where a text belongs in its job; the path in an error begins with `name`. */
export interface TextPosition {
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
export function checkReadable(text: string, job: string, { name, around = 0 }: TextPosition = {}): void {
  // JSON.stringify escapes a surrogate only where its other half is missing.
  const maybeHalf = text.includes('\\ud')
  if (!maybeHalf && !isDeeperThan(MOST_LEVELS - around, text)) return
  const trail: Key[] = name === undefined ? [] : [name]
  try {
    check(JSON.parse(text), [], trail, MOST_LEVELS - around)
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    const path = pathOf(trail)
    throw new HighkiqError('INVALID_ARGS', `${job}: ${path} ${thrown.says}`, { path, job })
  }
}

/** Returns whether JSON has more levels. Most texts have few brackets, and those are only counted. */
export function isDeeperThan(most: number, text: string): boolean {
  // Each level has an opening and a closing character.
  if (text.length < 2 * (most + 1)) return false
  let brackets = 0
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++brackets > most) return levelsOf(text) > most
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
