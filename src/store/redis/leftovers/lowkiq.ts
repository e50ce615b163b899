/**
 * Moves what Lowkiq has left to ordered queues: the ids that wait, those that it had fetched, and its morgue. Its keys
 * begin with `lowkiq:A:v1:QUEUE`. A payload is a member of a sorted set, written by `Marshal.dump`, or as JSON by a
 * `dump_payload` of the app.
 */

import { canonicalJson } from '../../../job/canonical.ts'
import { messageOf } from '../../../job/errors.ts'
import { parseJson } from '../../../job/json.ts'
import type { LeftoverStore, LowkiqAdoption } from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { type OrderedQueues, shardsOf, writeError } from '../ordered/queues.ts'
import type { Argument } from '../server/connection.ts'
import { escapePattern } from '../server/keys.ts'
import { scanKeys } from '../server/leftovers.ts'
import type { Server } from '../server/server.ts'
import { isMarshal, loadMarshal } from './marshal.ts'

const PAGE = 100
const DUE = 'ids_scored_by_perform_in'
const FETCHED = 'processing:ids_with_perform_in'
/** The keys that tell the name of a queue, and some of them the number of a shard. An id may end in the same way. */
const KEY = new RegExp(
  `^(?!.*:payloads:)(?<queue>.+?):(?:(?:morgue:)?all_ids_lex|processed|failed|${DUE}:(?<due>\\d+)|${FETCHED}:(?<fetched>\\d+)|processing:(?<old>\\d+))$`,
  's',
)

/** The shards of a queue that have keys: due ids, fetched ids, and fetched ids as old versions wrote them. */
interface Shards {
  due: string[]
  fetched: string[]
  old: string[]
}

/** Where Lowkiq keeps ids of one kind. Each key is behind the prefix of the queue. */
interface Section {
  /** Sorted set or hash: id → when it is due, or died. */
  ids: string
  isHash: boolean
  isDead: boolean
  /** Followed by a colon and the id. */
  payloads: string
  /** Sorted set or hash: id → retryCount. */
  retries?: string
  errors: string
  /** The other keys that have the id. */
  others: string[]
}

/** What is read of an id. */
interface LowkiqId {
  id: string
  payloads: { member: Buffer; score: string; text: string }[]
  seconds: string
  retryCount: number
  error: string | null
}

export class LowkiqQueues implements Partial<LeftoverStore> {
  readonly #server: Server
  readonly #ordered: OrderedQueues
  readonly #root: string

  constructor(server: Server, ordered: OrderedQueues) {
    this.#server = server
    this.#ordered = ordered
    this.#root = `${server.keys.prefix}lowkiq:A:v1:`
  }

  async adoptLowkiq(shards: number, dry: boolean): Promise<LowkiqAdoption[]> {
    const adoptions: LowkiqAdoption[] = []
    for (const [queue, found] of await this.#queues()) {
      const adoption: LowkiqAdoption = { queue, waiting: 0, dead: 0, left: [] }
      // Fetched ids come first: their retryCount counts, and not that of payloads which were pushed meanwhile.
      const sections = [...found.fetched.map(fetchedBy), waitingIn(found.due), MORGUE]
      for (const section of sections) await this.#adopt(section, shards, dry, adoption)
      for (const shard of found.old) adoption.left.push({ id: `shard ${shard}`, reason: OLD })
      if (!dry && adoption.left.length === 0) {
        const rest = ['processed', 'failed', 'processing_length_by_shard'].map((name) => this.#key(queue, name))
        await this.#server.call((client) => client.unlink(...rest))
      }
      adoptions.push(adoption)
    }
    return adoptions
  }

  async #queues(): Promise<Map<string, Shards>> {
    const queues = new Map<string, Shards>()
    for (const key of await scanKeys((work) => this.#server.call(work), `${escapePattern(this.#root)}*`)) {
      const { queue, ...shards } = KEY.exec(key.slice(this.#root.length))?.groups ?? {}
      if (queue === undefined) continue
      const known = queues.get(queue) ?? { due: [], fetched: [], old: [] }
      queues.set(queue, known)
      for (const name of ['due', 'fetched', 'old'] as const)
        if (shards[name] !== undefined) known[name].push(shards[name])
    }
    return new Map([...queues].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  async #adopt(section: Section, shards: number, dry: boolean, adoption: LowkiqAdoption): Promise<void> {
    const { queue, left } = adoption
    const { isDead } = section
    for (let passed = 0; ; ) {
      const ids = await this.#page(queue, section, passed)
      if (ids.length === 0) return
      for (const one of ids) {
        try {
          const read = await this.#read(queue, section, one)
          if (!dry && !(await this.#move(queue, section, shards, read))) {
            throw new Error('it changed meanwhile: a process of Lowkiq still runs. Stop it, then run this again')
          }
          adoption[isDead ? 'dead' : 'waiting']++
          if (dry) passed++
        } catch (thrown) {
          if ((thrown as { code?: string }).code?.startsWith('STORE_')) throw thrown
          left.push({ id: one.id.toString(), reason: messageOf(thrown) })
          passed++
        }
      }
    }
  }

  /** Returns ids with their times, after those that were passed. */
  async #page(queue: string, { ids, isHash }: Section, passed: number): Promise<{ id: Buffer; time: string }[]> {
    const key = this.#key(queue, ids)
    const flat = isHash
      ? // A shard has fetched at most one batch.
        ((await this.#server.call((client) => client.callBuffer('HGETALL', key))) as Buffer[]).slice(2 * passed)
      : await this.#server.call((client) =>
          client.zrangeBuffer(key, String(passed), String(passed + PAGE - 1), 'WITHSCORES'),
        )
    return Array.from({ length: flat.length / 2 }, (_, i) => ({
      id: flat[2 * i] as Buffer,
      time: String(flat[2 * i + 1]),
    }))
  }

  /** @throws INVALID_ARGS for what an ordered queue can't have */
  async #read(queue: string, section: Section, { id, time }: { id: Buffer; time: string }): Promise<LowkiqId> {
    const name = id.toString()
    if (name === '' || !Buffer.from(name).equals(id)) throw new Error('its id is empty or not valid UTF-8')
    const { payloads, retries, errors, isHash } = section
    const [flat, retryCount, error] = await this.#server.call((client) =>
      Promise.all([
        client.zrangeBuffer(this.#key(queue, `${payloads}:${name}`), '0', '-1', 'WITHSCORES'),
        retries === undefined
          ? null
          : isHash
            ? client.hget(this.#key(queue, retries), name)
            : client.zscore(this.#key(queue, retries), name),
        client.hget(this.#key(queue, errors), name),
      ]),
    )
    return {
      id: name,
      payloads: Array.from({ length: flat.length / 2 }, (_, i) => {
        const member = flat[2 * i] as Buffer
        return { member, score: String(flat[2 * i + 1]), text: payloadText(member) }
      }),
      seconds: time,
      retryCount: Math.trunc(Number(retryCount ?? -1)),
      error,
    }
  }

  /** Moves an id in one step. False: it has changed. */
  async #move(queue: string, section: Section, shards: number, read: LowkiqId): Promise<boolean> {
    const { id, payloads, seconds, retryCount, error } = read
    const { ids, retries, errors, others, isDead } = section
    const keys = [ids, ...(retries === undefined ? [] : [retries]), errors, ...others]
    const args: Argument[] = [id, isDead ? 'dead' : '', retryCount, seconds, writeError(error)]
    args.push(this.#key(queue, `${section.payloads}:${id}`), payloads.length)
    for (const { member, score, text } of payloads) args.push(member, score, text)
    args.push(...keys.map((name) => this.#key(queue, name)))
    const run = () => this.#ordered.run(queue, lua.orderedAdopt, (known) => shardsOf([id], known), args)
    for (let answer = await run(); ; answer = await run()) {
      if (answer !== undefined) return answer === 1
      await this.#ordered.define(queue, shards)
    }
  }

  #key(queue: string, name: string): string {
    return `${this.#root}${queue}:${name}`
  }
}

const OLD = 'fetched by an old version, which wrote them as one value: start that version once, and stop it gracefully'

const MORGUE: Section = {
  ids: 'morgue:all_ids_scored_by_updated_at',
  isHash: false,
  isDead: true,
  payloads: 'morgue:payloads',
  errors: 'morgue:errors',
  others: ['morgue:all_ids_lex'],
}

/** The ids that wait. */
function waitingIn(shards: readonly string[]): Section {
  return {
    ids: 'all_ids_scored_by_perfrom_in', // as Lowkiq spells it
    isHash: false,
    isDead: false,
    payloads: 'payloads',
    retries: 'all_ids_scored_by_retry_count',
    errors: 'errors',
    others: ['all_ids_lex', ...shards.map((shard) => `${DUE}:${shard}`)],
  }
}

/** The ids that a shard had fetched. */
function fetchedBy(shard: string): Section {
  return {
    ids: `${FETCHED}:${shard}`,
    isHash: true,
    isDead: false,
    payloads: 'processing:payloads',
    retries: `processing:ids_with_retry_count:${shard}`,
    errors: `processing:errors:${shard}`,
    others: [],
  }
}

/** Returns a payload as an ordered queue has it. @throws INVALID_ARGS, and for what is neither Marshal nor JSON */
function payloadText(bytes: Buffer): string {
  if (isMarshal(bytes)) return canonicalJson(loadMarshal(bytes))
  try {
    return canonicalJson(parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch (cause) {
    throw new Error('a payload is neither Ruby Marshal nor JSON: it was written by a dump_payload of your own', {
      cause,
    })
  }
}
