/** Pushes that come as JSON. */

import { HighkiqError } from '../job/errors.ts'
import { isObject } from '../job/json.ts'
import { given } from '../job/options.ts'
import type { PushRequest } from './request.ts'

/** @throws INVALID_REQUEST */
export function pushOf(body: unknown): PushRequest {
  if (!isObject(body)) throw invalid("a job must be an object, for example { class: 'HardJob', args: [1, 2] }")
  const { at, in: wait, ...rest } = body
  const ours = Object.keys(rest).find((name) => name.startsWith('hk_'))
  if (ours !== undefined) throw invalid(`${ours} is reserved for Highkiq: leave it out`)
  if (at !== undefined && wait !== undefined) throw invalid('a job can have `at` or `in`, not both')
  return { ...rest, ...given({ at: at === undefined ? at : secondsOf(at), wait }) } as PushRequest
}

/** @throws INVALID_REQUEST */
export function secondsOf(at: unknown, name = 'at'): number {
  const seconds = typeof at === 'string' ? Date.parse(at) / 1000 : at
  if (typeof seconds === 'number' && Number.isFinite(seconds)) return seconds
  throw invalid(`\`${name}\` must be a time in ISO 8601, or seconds since the epoch`)
}

function invalid(message: string): HighkiqError {
  return new HighkiqError('INVALID_REQUEST', message)
}
