/** The verbs of ordered queues: each call one transaction. */

import { doneInPart, HighkiqError, PushError } from '../../../job/errors.ts'
import type { OrderedSettleAndFetch, OrderedSettleAndFetchAnswer, OrderedStore } from '../../contract.ts'
import type { StoreFile } from '../file.ts'
import type { Opened } from '../moves.ts'
import type { OrderedBook } from './book.ts'
import { topicOf } from './book.ts'
import { beginReshard, moveShards } from './reshard.ts'
import type { Step } from './step.ts'
import { Muddled } from './turn.ts'

/** Who pushes or leaves wants an answer, also when another program keeps the file locked. */
export const ANSWER_SECONDS = 5

export class SqliteOrderedStore implements OrderedStore {
  readonly #file: StoreFile
  /** By owner and queue: the news that its last wait ended with. */
  readonly #heard = new Map<string, Map<string, number>>()

  constructor(file: StoreFile) {
    this.#file = file
  }

  readonly define: OrderedStore['define'] = (queue, shards) =>
    this.#file.write(({ ordered }) => ordered.define(queue, shards).queue.shards, ANSWER_SECONDS)
  readonly queues: OrderedStore['queues'] = () => this.#file.read(({ ordered }) => ordered.names())
  readonly assignments: OrderedStore['assignments'] = (queue) =>
    this.#look(queue, null, (book, { ordered }) => ordered.look.board(book))
  readonly counts: OrderedStore['counts'] = (queue, now) =>
    this.#look(queue, null, (book, { ordered }) => ordered.look.numbers(book, now))

  readonly push: OrderedStore['push'] = async (queue, shards, items) => {
    if (items.length === 0) return
    try {
      await this.#file.write((s) => {
        s.ordered.push(queue, shards, items)
        s.db.checkRoom()
      }, ANSWER_SECONDS)
    } catch (thrown) {
      if (!(thrown instanceof HighkiqError)) throw thrown
      throw new PushError(thrown.message, [], false, { cause: thrown })
    }
  }

  readonly join: OrderedStore['join'] = (queue, owner) =>
    this.#change(queue, false, (book, { ordered }) => {
      const id = ordered.ownerId(owner)
      if (id !== undefined) ordered.owners.join(book, id)
      return id !== undefined
    })

  readonly leave: OrderedStore['leave'] = (queue, owner, now) => {
    this.#heard.delete(owner)
    return this.#change(queue, undefined, (book, { ordered }) => ordered.owners.leave(book, owner, now), ANSWER_SECONDS)
  }

  readonly acquireShard: OrderedStore['acquireShard'] = (queue, shard, owner, maxCrashes, now) =>
    this.#change(queue, null, (book, { ordered }) => ordered.owners.own(book, shard, owner, maxCrashes, now))
  readonly releaseShard: OrderedStore['releaseShard'] = (queue, shard, owner, token, now) =>
    this.#change(queue, false, (book, { ordered }) => {
      const id = ordered.ownerId(owner)
      return id !== undefined && ordered.owners.release(book, shard, id, token, now)
    })

  async settleAndFetch(
    queue: string,
    owner: string,
    turn: OrderedSettleAndFetch,
  ): Promise<OrderedSettleAndFetchAnswer> {
    try {
      return await this.#file.write(({ ordered }) => ordered.turn(queue, owner, turn, false))
    } catch (thrown) {
      if (thrown instanceof Muddled) return this.#file.write(({ ordered }) => ordered.turn(queue, owner, turn, true))
      if (thrown instanceof HighkiqError || turn.settlements.length === 0) throw thrown
      return this.#turnOneByOne(queue, owner, turn)
    }
  }

  readonly inFlight: OrderedStore['inFlight'] = (queue, owner) =>
    this.#look(queue, [], (book, { ordered }) => ordered.flights.list(book.id, owner ?? null))

  async wait(owner: string, queues: readonly string[], ms: number, signal: AbortSignal): Promise<undefined> {
    const { bell } = await this.#file.opened()
    const end = performance.now() + ms
    const topics = queues.map(topicOf)
    while (!signal.aborted && !this.#file.isClosed) {
      const news = await this.#file.read(({ ordered }) => queues.map((queue) => ordered.open(queue)?.queue.news ?? 0))
      if (this.#hears(owner, queues, news)) return
      const left = end - performance.now()
      if (left <= 0) return
      await bell.wait(topics, left, signal)
    }
  }

  readonly pause: OrderedStore['pause'] = (queue, on) =>
    this.#change(
      queue,
      undefined,
      (book) => {
        if (book.queue.paused === Number(on)) return
        book.changeQueue({ paused: Number(on) })
        book.ring()
      },
      ANSWER_SECONDS,
    )

  readonly reshard: OrderedStore['reshard'] = (queue, shards) =>
    this.#change(queue, false, (book, { db }) => beginReshard(db, book, shards))

  async moveShards(queue: string): Promise<number> {
    for (;;) {
      const { moved, done } = await this.#change(queue, { moved: 0, done: true }, (book, { db }) =>
        moveShards(db, book),
      )
      if (moved > 0 || done) return moved
    }
  }

  readonly waiting: OrderedStore['waiting'] = (queue, by, page) =>
    this.#look(queue, [], (book, { ordered }) => ordered.look.waiting(book, by, page))
  readonly find: OrderedStore['find'] = (queue, id) =>
    this.#look(queue, { waiting: null, inFlight: null, dead: null }, (book, { ordered }) => ({
      waiting: ordered.look.find(book, id),
      inFlight: ordered.flights.one(book.id, id),
      dead: ordered.morgue.find(book.id, id),
    }))

  readonly act: OrderedStore['act'] = (queue, act, ids, options) =>
    this.#inSteps(queue, ids, (book, { ordered }, rest, begun) => ordered.acts.act(book, act, rest, options, begun))
  readonly deletePayload: OrderedStore['deletePayload'] = (queue, id, payload) =>
    this.#change(queue, false, (book, { ordered }) => ordered.acts.deletePayload(book, id, payload))
  readonly cancel: OrderedStore['cancel'] = async (queue, ids) => {
    for (;;) {
      const answer = await this.#change(
        queue,
        ids.map(() => 'not-found' as const),
        (book, { ordered }) => (ordered.acts.cancelSome(book, ids) ? null : ordered.acts.cancel(book, ids)),
      )
      if (answer) return answer
    }
  }

  readonly morgue: OrderedStore['morgue'] = (queue, by, page) =>
    this.#look(queue, [], (book, { ordered }) => ordered.morgue.page(book.id, by, page))
  readonly resurrect: OrderedStore['resurrect'] = (queue, ids, now) =>
    this.#inSteps(queue, ids, (book, { ordered }, rest) => ordered.acts.resurrect(book, rest, now))
  readonly deleteDead: OrderedStore['deleteDead'] = (queue, ids) =>
    this.#inSteps(queue, ids, (book, { ordered }, rest) => ordered.morgue.delete(book, rest))
  readonly pruneMorgue: OrderedStore['pruneMorgue'] = async (queue, max, since) => {
    const ids = await this.#look(queue, [], (book, { ordered }) => ordered.morgue.excess(book, max, since))
    return this.#inSteps(queue, ids, (book, { ordered: { morgue } }, rest) => {
      // An id that died again meanwhile counts as new.
      const still = new Set(morgue.excess(book, max, since))
      return morgue.delete(
        book,
        rest.filter((id) => still.has(id)),
      )
    })
  }
  readonly deleteQueue: OrderedStore['deleteQueue'] = (queue) =>
    this.#file.write(({ ordered }) => {
      const book = ordered.open(queue)
      return book !== undefined && ordered.forget(book)
    }, ANSWER_SECONDS)

  /** Whether there is something that this owner has not heard of. */
  #hears(owner: string, queues: readonly string[], news: readonly number[]): boolean {
    let heard = this.#heard.get(owner)
    if (!heard) {
      heard = new Map()
      this.#heard.set(owner, heard)
    }
    let isNew = false
    for (const [i, queue] of queues.entries()) {
      if (heard.get(queue) === news[i]) continue
      heard.set(queue, news[i] as number)
      isNew = true
    }
    return isNew
  }

  /** Something in the turn can't be applied: each settlement gets a transaction of its own, and only the culprit fails. */
  async #turnOneByOne(queue: string, owner: string, turn: OrderedSettleAndFetch): Promise<OrderedSettleAndFetchAnswer> {
    const settled: OrderedSettleAndFetchAnswer['settled'] = []
    let problem: string | undefined
    for (const settlement of turn.settlements) {
      const alone = { ...turn, settlements: [settlement], fetch: [] }
      try {
        const one = await this.#file.write(({ ordered }) => ordered.turn(queue, owner, alone, true))
        settled.push(one.settled[0] ?? 'error')
      } catch (thrown) {
        // The earlier steps are written, so the error must not claim that nothing is.
        if (thrown instanceof HighkiqError && settled.includes('ok')) throw doneInPart(thrown)
        if (thrown instanceof HighkiqError) throw thrown
        settled.push('error')
        problem = `${settlement.id}: ${thrown instanceof Error ? thrown.message : String(thrown)}`
      }
    }
    const rest = { ...turn, settlements: [] }
    const answer = await this.#file
      .write(({ ordered }) => ordered.turn(queue, owner, rest, true))
      .catch((thrown) => {
        throw doneInPart(thrown)
      })
    return { ...answer, settled, ...(problem === undefined ? {} : { problem }) }
  }

  async #look<T>(queue: string, none: T, work: (book: OrderedBook, s: Opened) => T): Promise<T> {
    return this.#file.read((s) => {
      const book = s.ordered.open(queue)
      return book ? work(book, s) : none
    })
  }

  /**
   * Runs each step in its own transaction, until no id is left.
   * @returns how many ids were finished
   */
  async #inSteps(
    queue: string,
    ids: readonly string[],
    step: (book: OrderedBook, s: Opened, rest: readonly string[], begun: ReadonlySet<string>) => Step,
  ): Promise<number> {
    const begun = new Set<string>()
    let n = 0
    for (let rest = ids; ; ) {
      const done = await this.#change<Step>(queue, { n: 0, rest: [] }, (book, s) => step(book, s, rest, begun))
      n += done.n
      if (done.rest.length === 0) return n
      if (done.begun !== undefined) begun.add(done.begun)
      rest = done.rest
    }
  }

  async #change<T>(
    queue: string,
    none: T,
    work: (book: OrderedBook, s: Opened) => T,
    seconds = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const answer = await this.#file.write((s) => s.ordered.change(queue, (book) => ({ is: work(book, s) })), seconds)
    return answer ? answer.is : none
  }
}
