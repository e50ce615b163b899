/** Pushes ordered jobs that come as JSON: one object, an array, or one on each line. */

import { secondsOf } from '../../client/push-json.ts'
import type { OrderedItem, OrderedQueue } from '../../index.ts'
import { codeOf, HighkiqError, messageOf } from '../../job/errors.ts'
import { isObject } from '../../job/json.ts'
import { invalid } from '../server/answer.ts'
import { chunksOf, readBody, readLines, type StreamItem } from '../server/body.ts'
import type { Call } from '../server/route.ts'

/**
 * Reads one ordered job. The push itself checks its members.
 * @throws INVALID_REQUEST when it is not an object
 */
function itemOf(body: unknown): OrderedItem {
  if (!isObject(body)) throw invalid('an ordered job must be an object, for example { id: 7, payload: { v: 1 } }')
  const { performAt, ...rest } = body
  const time = performAt === undefined ? {} : { performAt: secondsOf(performAt, 'performAt') }
  return { ...rest, ...time } as OrderedItem
}

/** @returns how many were stored */
export async function pushBody(queue: OrderedQueue, { request, server: { limits } }: Call): Promise<number> {
  const body = await readBody(request, limits.bodyBytes)
  return queue.performAsync(Array.isArray(body) ? body.map(itemOf) : itemOf(body))
}

/** @returns how many were stored */
export function pushStream(queue: OrderedQueue, { request, server: { limits } }: Call): Promise<number> {
  return pushLines(queue, readLines(chunksOf(request, limits.uploadBytes), limits.bodyBytes), limits.rows)
}

/**
 * Pushes the lines in batches while it reads them.
 * @returns how many jobs were stored
 * @throws the error of a refused line, with its number (`details.line`) and how many jobs were stored before (`pushed`)
 */
export async function pushLines(
  queue: OrderedQueue,
  lines: AsyncIterable<StreamItem>,
  most = Number.POSITIVE_INFINITY,
): Promise<number> {
  let pushed = 0
  let items: OrderedItem[] = []
  let numbers: number[] = []
  /** The line that the current error is about; undefined when it is about none. */
  let at: number | undefined
  const flush = async () => {
    try {
      pushed += await queue.performAsync(items)
    } catch (thrown) {
      const { index } = ((thrown ?? {}) as Partial<HighkiqError>).details ?? {}
      at = numbers[index as number]
      throw thrown
    }
    items = []
    numbers = []
  }
  try {
    for await (const { line, value, endsPart } of lines) {
      at = line
      if (pushed + items.length >= most) {
        throw new HighkiqError('TOO_MANY_ROWS', `a stream can have at most ${most} ordered jobs`)
      }
      items.push(itemOf(value))
      numbers.push(line)
      at = undefined
      if (endsPart) await flush()
    }
    if (items.length > 0) await flush()
  } catch (thrown) {
    const code = codeOf(thrown)
    if (!code) throw thrown
    const line = at === undefined ? {} : { line: at }
    const message = at === undefined ? messageOf(thrown) : `line ${at}: ${messageOf(thrown)}`
    throw new HighkiqError(code, message, { ...(thrown as HighkiqError).details, ...line, pushed }, { cause: thrown })
  }
  return pushed
}
