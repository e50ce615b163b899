/** Batches: see batches.lua for their keys. */

import { isPriorityName } from '../../../job/priority.ts'
import {
  type BatchJob,
  type BatchMember,
  type BatchPush,
  type BatchRecord,
  type BatchRefusal,
  type BatchSpec,
  type BatchStore,
  idsByBatch,
  MEMBER_STATES,
  type MemberState,
  MOST_NESTED,
  type NewMember,
  type ParentJob,
  type RefusedPush,
} from '../../contract.ts'
import type { PriorityQueues } from '../jobs/priority-queues.ts'
import { lua } from '../lua.generated.ts'
import { pairs } from '../server/chunks.ts'
import { storedInSteps } from '../server/confirmed-push.ts'
import type { Argument } from '../server/connection.ts'
import { type Server, StorePart } from '../server/server.ts'

/** The number of members that one step of a walk through them looks at, at least. */
const PAGE = 100

export class Batches extends StorePart implements BatchStore {
  readonly #priorities: PriorityQueues

  constructor(server: Server, priorities: PriorityQueues) {
    super(server)
    this.#priorities = priorities
  }

  async push(push: BatchPush, now: number): ReturnType<BatchStore['push']> {
    const items = push.members.flatMap(({ item }) => (item ? [item] : []))
    let answer: ['ok' | 'exists' | BatchRefusal['reason'], ...string[]] = ['ok']
    const put = async () => {
      answer = (await this.#put(push, now)) as typeof answer
    }
    await storedInSteps(this.server, [{ items, put }])
    const [word, ...rest] = answer
    if (word === 'exists') return word
    if (word !== 'ok') {
      const [bid = '', member, holder] = rest
      return {
        reason: word,
        bid,
        ...(member === undefined ? {} : { member }),
        ...(holder === undefined ? {} : { holder }),
      }
    }
    if (items.some(({ to }) => to !== 'queue' && to !== 'dead')) this.server.due.notify()
    this.#priorities.pushed(
      items.flatMap((one) => (one.to === 'queue' && isPriorityName(one.queue) ? [one.queue] : [])),
    )
    const held = pairs<string, string>(rest)
    return push.members.filter(isUnique).flatMap(({ item }, i): RefusedPush | [] => {
      const [holder = '', due = ''] = held[i] ?? []
      return holder === '' || !item ? [] : { item, holder, due: due === '' ? null : Number(due) }
    })
  }

  async find(bid: string): Promise<BatchRecord | null> {
    return (await this.#records([bid]))[0] ?? null
  }

  async page({ before, limit }: Parameters<BatchStore['page']>[0]) {
    const after = before ? [before.createdAt, before.bid] : []
    const found = await this.#entries(this.keys.batches, ['desc', limit, ...after])
    // A batch whose record is gone is not returned, and does not end the list.
    const items = await this.#records(found.map(({ bid }) => bid))
    const last = found.length === limit ? found.at(-1) : undefined
    return { items, next: last ? { createdAt: last.score, bid: last.bid } : null }
  }

  async members(bid: string, { after = '0', limit }: Parameters<BatchStore['members']>[1]) {
    const count = Math.max(limit, PAGE)
    const key = this.keys.batchMembers(bid)
    const [next, flat] = await this.server.call((client) => client.hscan(key, after, 'COUNT', count))
    const items = pairs(flat).map(([id, state]): BatchMember => {
      return { id: String(id), state: MEMBER_STATES[Number(state)] as MemberState }
    })
    return { items, next: next === '0' ? null : next }
  }

  notes(bid: string): Promise<Record<string, string>> {
    return this.server.call((client) => client.hgetall(this.keys.batchNotes(bid)))
  }

  async apply(...[effects, now]: Parameters<BatchStore['apply']>): Promise<boolean[]> {
    const wereOpen = await this.server.runCall(lua.batchApply, now, [], [], (call) => call.effects(effects))
    return (wereOpen as number[]).map(Boolean)
  }

  async cancel(bid: string, now: number): Promise<boolean> {
    return (await this.server.runCall(lua.batchCancel, now, [], [], (call) => call.add(bid))) === 1
  }

  async cancelling({ after = '0', limit }: Parameters<BatchStore['cancelling']>[0]) {
    const key = this.keys.cancellingBatches
    const [next, flat] = await this.server.call((client) => client.zscan(key, after, 'COUNT', Math.max(limit, PAGE)))
    return { items: pairs(flat).map(([bid]) => String(bid)), next: next === '0' ? null : next }
  }

  async idle(before: number, { after, limit }: Parameters<BatchStore['idle']>[1]) {
    const from = after ? [after.progressAt, after.bid] : []
    const page = await this.#entries(this.keys.openBatches, ['', limit, ...from])
    const found = page.filter(({ score }) => score < before)
    // A batch whose record another program has deleted is not returned, and does not end the walk.
    const items = await this.#records(found.map(({ bid }) => bid))
    const last = found.length === limit ? found.at(-1) : undefined
    return { items, next: last ? { progressAt: last.score, bid: last.bid } : null }
  }

  async prune(now: number, limit: number): Promise<number> {
    const { batches, endedBatches } = this.keys
    return (await this.server.run(lua.batchPrune, [batches, endedBatches], [now, limit, Date.now()])) as number
  }

  #put({ batches, members }: BatchPush, now: number) {
    const grown = idsByBatch(members, (member) => !isUnique(member))
    return this.server.runCall(lua.batchPush, now, [this.keys.batches, this.keys.unique], [], (call) => {
      call.add(MOST_NESTED, batches.length)
      for (const batch of batches) {
        const values = fieldsOf(batch)
        call.add(batch.bid, batch.createdAt, batch.parent ?? '', values.length, ...values)
      }
      call.add(grown.size)
      for (const [bid, ids] of grown) {
        call.add(bid, ids.length)
        for (const id of ids) call.add(id)
      }
      const items = members.flatMap(({ item }) => (item ? [item] : []))
      call.add(items.length)
      for (const item of items) call.item(item, item.effects)
      const unique = members.filter(isUnique)
      call.add(unique.length)
      if (unique.length === 0) return
      const places = new Map([...grown.keys()].map((bid, i) => [bid, i + 1]))
      const numbers = new Map(items.map((item, i) => [item, i + 1]))
      for (const { bid, id, item, onConflict } of unique) {
        if (!item) continue
        call.add(
          places.get(bid) ?? 0,
          id,
          numbers.get(item) ?? 0,
          item.unique?.jid ?? '',
          onConflict === 'raise' ? 1 : '',
        )
        call.claims(item)
      }
    })
  }

  /** Returns a page of a sorted set of batches. */
  async #entries(key: string, args: Argument[]): Promise<{ bid: string; score: number }[]> {
    const [found] = await this.server.runForBytes(lua.page, [key], args)
    return pairs(found as unknown as Buffer[]).map(([bid, score]) => ({ bid: String(bid), score: Number(score) }))
  }

  async #records(bids: readonly string[]): Promise<BatchRecord[]> {
    if (bids.length === 0) return []
    const found = await this.server.all((pipeline) => {
      for (const bid of bids) pipeline.hgetall(this.keys.batch(bid))
    })
    return found.flatMap((fields, i) => {
      const record = recordOf(bids[i] as string, fields as unknown as Record<string, string>)
      return record ?? []
    })
  }
}

function isUnique({ item }: NewMember): boolean {
  return (item?.unique?.claims.length ?? 0) > 0
}

/** Returns the fields of a new batch, and their values. */
function fieldsOf({ meta, keep, onComplete, onSuccess, onDeath, job }: BatchSpec): Argument[] {
  const values: Argument[] = ['meta', meta, 'keep', keep]
  for (const [field, value] of Object.entries({ onComplete, onSuccess, onDeath, job })) {
    if (value) values.push(field, JSON.stringify({ ...value, text: value.text.toWellFormed() }))
  }
  return values
}

function recordOf(bid: string, fields: Record<string, string>): BatchRecord | undefined {
  const { parent = null, depth = 1, meta = '{}', completedAt, succeededAt, diedAt } = fields
  if (fields.pending === undefined) return undefined
  const n = (name: string) => Number(fields[name] ?? 0)
  const job = (name: string): BatchJob | null => (fields[name] === undefined ? null : JSON.parse(fields[name]))
  const time = (text: string | undefined) => (text === undefined ? null : Number(text))
  return {
    ...{
      bid,
      parent,
      depth: Number(depth),
      meta,
      keep: n('keep'),
      createdAt: n('createdAt'),
      progressAt: n('progressAt'),
    },
    cancelling: fields.cancelling !== undefined,
    ...{ job: job('job') as ParentJob | null, onComplete: job('onComplete') },
    ...{ onSuccess: job('onSuccess'), onDeath: job('onDeath') },
    ...{ total: n('total'), pending: n('pending'), retrying: n('retrying'), dead: n('dead') },
    ...{ failed: n('failed'), succeeded: n('succeeded') },
    ...{ completedAt: time(completedAt), succeededAt: time(succeededAt), diedAt: time(diedAt) },
  }
}
