/** The `meta` that an app gives to its tasks: what it stores with them, and finds them by. */

import { invalidOption } from '../job/errors.ts'
import { isObject, stringifyJson } from '../job/json.ts'
import { shown } from '../job/options.ts'

/** Anything that is JSON. Members with a string or a whole number are labels, by which `hq.tasks.list` finds the task. */
export type OwnMeta = Readonly<Record<string, unknown>>

const MOST_BYTES = 4096
const MOST_LABELS = 4
const MOST_CHARACTERS = 200
const NAME = /^[\w-]{1,40}$/

/** @throws INVALID_OPTION */
export function checkMeta(where: string, meta: unknown): asserts meta is OwnMeta {
  if (!isObject(meta)) throw invalidOption(`${where}: meta must be an object (got ${shown(meta)})`)
  let bytes = Number.POSITIVE_INFINITY
  try {
    bytes = Buffer.byteLength(stringifyJson(meta))
  } catch {
    throw invalidOption(`${where}: meta must be JSON`)
  }
  if (bytes > MOST_BYTES)
    throw invalidOption(`${where}: meta must be at most ${MOST_BYTES} bytes of JSON (got ${bytes})`)
  const labels = Object.entries(meta).filter(([, value]) => isLabel(value))
  if (labels.length > MOST_LABELS) {
    throw invalidOption(
      `${where}: meta must have at most ${MOST_LABELS} members with a string or a whole number (got ${labels.length}): put the others into an object`,
    )
  }
  for (const [name, value] of labels) checkLabel(`${where}: meta`, name, value)
}

/** Checks what `hq.tasks.list` finds tasks by. @throws INVALID_OPTION */
export function checkMetaFilter(where: string, filter: unknown): asserts filter is Record<string, string | number> {
  const isFilter = isObject(filter) && Object.keys(filter).length > 0 && Object.keys(filter).length <= MOST_LABELS
  if (!isFilter)
    throw invalidOption(`${where}: meta must be an object of 1 to ${MOST_LABELS} members (got ${shown(filter)})`)
  for (const [name, value] of Object.entries(filter)) checkLabel(`${where}: meta`, name, value)
}

function checkLabel(where: string, name: string, value: unknown): void {
  if (!NAME.test(name)) {
    throw invalidOption(`${where}: the name ${shown(name)} must have 1 to 40 letters, digits, _ and -`)
  }
  if (isLabel(value) && String(value).length <= MOST_CHARACTERS) return
  const what = `a string of at most ${MOST_CHARACTERS} characters or a whole number`
  throw invalidOption(`${where}.${name} must be ${what} (got ${shown(value)})`)
}

function isLabel(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

/** Returns the members by which a task is found, as texts. */
export function labelsOf(meta: OwnMeta = {}): Record<string, string> {
  const labels = Object.entries(meta).filter(([, value]) => isLabel(value))
  return Object.fromEntries(labels.map(([name, value]) => [name, String(value)]))
}
