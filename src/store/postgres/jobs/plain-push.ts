/** Pushes of plain jobs: one statement for each queue. It takes no lock, so processes push at the same time. */

import { HighkiqError } from '../../../job/errors.ts'
import { baseQueue } from '../../../job/priority.ts'
import { inSteps } from '../../../job/push-steps.ts'
import type { PushItem, RefusedPush } from '../../contract.ts'
import { priorityOffset } from '../queues/queues.ts'
import { MOST_CHARACTERS } from '../queues/slices.ts'
import { ANSWER_SECONDS, type StoreServer } from '../server/store-server.ts'
import { sql } from '../sql.generated.ts'
import { CHUNK } from './moves.ts'

/** Separates two packs of a push. */
const SEPARATOR = '\x1e'

/** Returns whether a job only goes to the back of a queue, and its text has neither a line break nor a SEPARATOR. JSON has neither. */
export function isPlain(item: PushItem): item is PushItem & { to: 'queue' } {
  if (item.to !== 'queue' || item.end !== 'back') return false
  if (item.effects?.length || item.once !== undefined || item.unique || item.maxLength !== undefined) return false
  return item.text !== '' && !item.text.includes('\n') && !item.text.includes(SEPARATOR)
}

/** A push of plain jobs to one queue. */
export interface PlainPush {
  queue: string
  items: readonly PushItem[]
  /** The sum of the lengths of their texts. */
  characters: number
}

/** Returns a push that can join a group; undefined if it has several queues, jobs that are not plain, or too many jobs or characters. */
export function plainPushOf(items: readonly PushItem[]): PlainPush | undefined {
  const [first] = items
  if (first?.to !== 'queue' || items.length > CHUNK) return undefined
  const { queue } = first
  if (!items.every((item) => isPlain(item) && item.queue === queue)) return undefined
  const characters = items.reduce((sum, { text }) => sum + text.length, 0)
  return characters > MOST_CHARACTERS ? undefined : { queue, items, characters }
}

/**
 * Pushes of plain jobs to one queue that share a statement, and so a commit. They keep their order. If the statement fails, each
 * push has its own, one after the other, and each caller gets an error about its own jobs.
 */
export class PushGroup {
  readonly queue: string
  readonly #server: StoreServer
  readonly #items: PushItem[] = []
  #characters = 0
  readonly #stored: Promise<void>
  /** Resolves when the last push that was added has ended. */
  #last: Promise<unknown> = Promise.resolve()

  /** The statement begins when `before` has resolved. It calls `onStart` first: then no push may be added any more. */
  constructor(server: StoreServer, queue: string, before: Promise<unknown>, onStart: () => void) {
    this.#server = server
    this.queue = queue
    this.#stored = before.then(() => {
      onStart()
      return pushPlain(server, queue, this.#items)
    })
  }

  hasRoomFor({ queue, items, characters }: PlainPush): boolean {
    if (queue !== this.queue) return false
    return this.#items.length + items.length <= CHUNK && this.#characters + characters <= MOST_CHARACTERS
  }

  add({ items, characters }: PlainPush): Promise<readonly RefusedPush[]> {
    this.#items.push(...items)
    this.#characters += characters
    const before = this.#last
    const put = () =>
      this.#stored.catch(async (thrown) => {
        // An error that does not concern the server as a whole may be due to a push of another caller.
        if (thrown instanceof HighkiqError || this.#items.length === items.length) throw thrown
        await before
        return pushPlain(this.#server, this.queue, items)
      })
    const pushed = inSteps<RefusedPush>([{ items, put }], this.#server.stepsOptions)
    this.#last = pushed.catch(() => undefined)
    return pushed
  }
}

/** The most jobs in a pack: the increment of hk.back_position. */
const PACK_SIZE = 8
/** A fetch unpacks as many packs at a time as it would need if all had PACK_SIZE jobs, so smaller packs cost it more statements. */
const SMALLEST_PACK = 4
/** The most characters of a pack, averaged over a push. PostgreSQL compresses rows over 2 kB, or stores a part of them elsewhere. */
const PACK_CHARACTERS = 1940

/** Stores plain jobs of one queue, in the order given: many small ones in packs, others in a row each. */
export async function pushPlain(server: StoreServer, queue: string, items: readonly PushItem[]): Promise<void> {
  const name = baseQueue(queue)
  const values = [server.lock, name, packsOf(items), items.length, priorityOffset(queue)] as const
  const push = () =>
    server.runOne(
      async (db, within) => {
        const answer = within
          ? db.first<{ pushed: boolean }>(sql.queue.pushPlainAndNotify, ...values, within.channel, within.payload)
          : db.first<{ pushed: boolean }>(sql.queue.pushPlain, ...values)
        return (await answer)?.pushed
      },
      [name],
    )
  // Another process may hide the queue again before the push.
  while (!(await push())) await server.write((db) => db.run(sql.queue.show, name), ANSWER_SECONDS)
}

/** Returns the jobs as lines, with a separator between two packs. One long text is written and read with far less work than an array. */
function packsOf(items: readonly PushItem[]): string {
  const characters = items.reduce((sum, { text }) => sum + text.length, 0)
  const fitting = Math.floor((PACK_CHARACTERS * items.length) / characters)
  const size = fitting < SMALLEST_PACK ? 1 : Math.min(PACK_SIZE, fitting)
  let packs = ''
  for (const [i, { text }] of items.entries()) {
    if (i > 0) packs += i % size === 0 ? SEPARATOR : '\n'
    packs += text
  }
  return packs.toWellFormed()
}
