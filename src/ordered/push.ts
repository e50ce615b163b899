/** Pushes items to an ordered queue. All items are checked before any is stored. */

import type { AppPort } from '../app/port.ts'
import type { OrderedPushRequest } from '../client/push-target.ts'
import { checkValue } from '../job/args.ts'
import { canonicalJson } from '../job/canonical.ts'
import { dueAt } from '../job/duration.ts'
import { HighkiqError, invalidJob, invalidOption, messageOf } from '../job/errors.ts'
import { meantBy, shown } from '../job/options.ts'
import { newJid } from '../job/payload.ts'
import { ORDERED_PAGE, type OrderedPush, type OrderedPushes } from '../store/contract.ts'
import type { OrderedDefinition, OrderedItem } from './definition.ts'
import { runOrderedInline } from './inline.ts'

const MOST_SCORE = 2 ** 53

/** The last score of this process, in microseconds. */
let lastScore = 0

/** Returns the time in seconds; each call returns more than the one before. */
function nextScore(nowMs: number): number {
  lastScore = Math.max(Math.round(nowMs * 1000), lastScore + 1)
  return lastScore / 1e6
}

/**
 * @returns the number of items; client middleware may drop some
 * @throws INVALID_JOB, INVALID_ARGS before anything is stored; PushError, whose `jids` are the ids not known to be stored
 */
export function pushOrdered(
  app: AppPort,
  definition: OrderedDefinition,
  items: OrderedItem | Iterable<OrderedItem>,
): Promise<number> {
  const { client } = app
  const request: OrderedPushRequest = {
    name: definition.name,
    prepare: async () => batchesOf(definition, await pushesOf(app, definition, items)),
    run: (some, chain) => runOrderedInline({ ...app.engine(), chain }, definition, some),
  }
  return client.observed(definition.name, () => client.target.pushOrdered(request), definition.queue)
}

/** Prepares and checks all items. */
async function pushesOf(
  app: AppPort,
  definition: OrderedDefinition,
  items: OrderedItem | Iterable<OrderedItem>,
): Promise<OrderedPush[]> {
  const { prepare } = definition.options
  const list = (Symbol.iterator in Object(items) ? [...(items as Iterable<OrderedItem>)] : [items]) as OrderedItem[]
  const prepared = prepare ? await Promise.all(list.map(async (item) => prepare(item))) : list
  // Checked before the middleware, which may rely on it, and again afterwards.
  const pushes = prepared.map((item, i) => {
    try {
      return pushOf(app, definition, item)
    } catch (thrown) {
      throw Symbol.iterator in Object(items) ? atIndex(thrown, definition, item, i) : thrown
    }
  })
  return app.client.isPlain ? pushes : pass(app, definition, prepared)
}

function batchesOf({ queue, options }: OrderedDefinition, pushes: readonly OrderedPush[]): OrderedPushes[] {
  const pages = Math.ceil(pushes.length / ORDERED_PAGE)
  return Array.from({ length: pages }, (_, page) => {
    const items = pushes.slice(page * ORDERED_PAGE, (page + 1) * ORDERED_PAGE)
    return { to: 'ordered', queue, shards: options.shards, items }
  })
}

/** Passes each item through the client middleware as the only argument of a job. */
async function pass(
  app: AppPort,
  definition: OrderedDefinition,
  items: readonly OrderedItem[],
): Promise<OrderedPush[]> {
  const { name, queue } = definition
  const passed: OrderedPush[] = []
  for (const item of items) {
    const after = await app.client.pass({ class: name, queue, args: [item], jid: newJid() })
    if (!after) continue
    // The middleware may have changed the item itself.
    passed.push(pushOf(app, definition, after.args[0] as OrderedItem))
  }
  return passed
}

const MEMBERS: ReadonlySet<string> = new Set(['id', 'payload', 'score', 'performIn', 'performAt', 'wake'])

function unknownMember(name: string, member: string): HighkiqError {
  const camel = member.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  const meant = MEMBERS.has(camel) ? camel : meantBy(camel, MEMBERS)
  const hint = meant === undefined ? 'there' : `did you mean ${meant}? There`
  return invalid(name, `an item has no ${member}; ${hint} are ${[...MEMBERS].join(', ')}`)
}

/** Returns the error with the index and the id of the item that it is about. */
function atIndex(thrown: unknown, { name }: OrderedDefinition, item: OrderedItem, i: number): unknown {
  if (!(thrown instanceof HighkiqError)) return thrown
  const { code, message, details } = thrown
  const id = item?.id === undefined ? '' : ` (id ${shown(item.id)})`
  const what = message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message
  return new HighkiqError(code, `${name}: items[${i}]${id}: ${what}`, { ...details, index: i }, { cause: thrown })
}

function pushOf(app: AppPort, { name }: OrderedDefinition, item: OrderedItem): OrderedPush {
  if (typeof item !== 'object' || item === null) {
    throw invalid(name, `${shown(item)} is not an item: pass { id, payload, … }`)
  }
  for (const member in item) if (!MEMBERS.has(member)) throw unknownMember(name, member)
  const { payload = '', score, performIn, performAt, wake } = item
  checkValue(payload, 'payload', name)
  const nowMs = app.now()
  const text = canonicalJson(payload)
  app.client.writer.checkSize(name, text)
  if (score !== undefined && !(typeof score === 'number' && Math.abs(score) <= MOST_SCORE)) {
    throw invalid(name, `score must be a number within ±2^53 (got ${shown(score)})`)
  }
  if (wake !== undefined && typeof wake !== 'boolean')
    throw invalid(name, `wake must be true or false (got ${shown(wake)})`)
  if (performIn !== undefined && performAt !== undefined) {
    throw invalid(name, 'performIn and performAt are the same: give one of them')
  }
  const push: OrderedPush = {
    id: idOf(name, item.id),
    payload: text,
    score: score ?? nextScore(nowMs),
    performIn: dueOf(name, item, nowMs),
  }
  if (wake) push.wake = true
  return push
}

function idOf(name: string, id: unknown): string {
  if (typeof id === 'string' && id !== '' && id.isWellFormed()) return id
  if (typeof id === 'bigint' || (typeof id === 'number' && Number.isFinite(id))) return String(id)
  throw invalid(name, `id must be a string or a number (got ${id === '' ? 'an empty string' : shown(id)})`)
}

/**
 * Returns the due time in seconds since the epoch; a number of 0 or less means now.
 * @throws INVALID_OPTION
 */
function dueOf(name: string, { performIn, performAt }: OrderedItem, nowMs: number): number {
  const when = performIn ?? performAt
  if (when === undefined || (typeof when === 'number' && when <= 0)) return nowMs / 1000
  try {
    return dueAt(when, nowMs)
  } catch (thrown) {
    const member = performIn === undefined ? 'performAt' : 'performIn'
    throw invalidOption(`${name}: ${member}: ${messageOf(thrown)}`)
  }
}

function invalid(name: string, what: string): HighkiqError {
  return invalidJob(`${name}: ${what}`)
}
