/** Limits: their slots, their rates, and when the jobs that wait for them may have room. */

import { HighkiqError } from '../../../job/errors.ts'
import {
  type DueLimits,
  type Limit,
  type LimitAnswer,
  type LimitChange,
  type LimitNumbers,
  type LimitRequest,
  type LimitState,
  type LimitStore,
  type SetLimit,
  withNumbers,
  withoutKey,
  withUnused,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { specOf } from '../server/call.ts'
import { StorePart } from '../server/server.ts'

/** The time between two attempts to void a call whose answer was lost. */
const VOID_AGAIN_MS = 1000
/** The number of limits, about, that one call reads, so that thousands of keys do not block the server. */
const PAGE = 500

/** A limit as `list-limits.lua` returns it. */
type Row = [name: string, spec: string, set: string, used: number, waiting: number, micros: number]

export class Limits extends StorePart implements LimitStore {
  #calls = 0

  async change(name: string, change: LimitChange): Promise<boolean> {
    return (await this.#change(name, change)) !== 'refused'
  }

  async reset(name: string): Promise<boolean> {
    return (await this.#change(name, { max: null, count: null, per: null, burst: null })) === 'changed'
  }

  async add({ name, numbers }: SetLimit): Promise<boolean> {
    return (await this.#change(name, numbers, true)) === 'changed'
  }

  async #change(name: string, change: LimitChange, onlyIfUnset = false): Promise<'changed' | 'unchanged' | 'refused'> {
    const { setLimits, cancellationVersion } = this.keys
    const values = NUMBERS.map((number) => (change[number] === null ? '-' : (change[number] ?? '')))
    const args = [name, onlyIfUnset ? 1 : 0, ...values]
    const answer = Number(await this.server.run(lua.setLimit, [setLimits, cancellationVersion], args))
    if (answer < 0) return 'refused'
    if (answer === 0) return 'unchanged'
    // The change is made, and it may not seem to have failed: without this the limit is checked within a minute.
    await this.#checkAllNow(name).catch(() => {})
    return 'changed'
  }

  /** Checks now whether jobs that wait for a limit have room, with all its keys. */
  async #checkAllNow(name: string): Promise<void> {
    const { limitChecks, dueChannel } = this.keys
    let cursor = '0'
    do {
      const [next, found] = await this.server.call((client) => client.zscan(limitChecks, cursor, 'COUNT', PAGE))
      await this.postpone(
        found.filter((limit, i) => i % 2 === 0 && withoutKey(limit) === name),
        0,
      )
      cursor = next
    } while (cursor !== '0')
    await this.server.call((client) => client.publish(dueChannel, ''))
  }

  async allSet(): Promise<SetLimit[]> {
    const all = await this.server.call((client) => client.hgetall(this.keys.setLimits))
    const names = Object.keys(all).sort((a, b) => (a < b ? -1 : 1))
    return names.map((name) => ({ name, numbers: readSet(all[name] as string) }))
  }

  async acquire(owner: string, requests: readonly LimitRequest[]): Promise<LimitAnswer[]> {
    const call = ++this.#calls
    const limits = limitsOf(requests)
    const numbers = new Map(limits.map(({ name }, i) => [name, i + 1]))
    const { leases, limits: used, limitChecks, setLimits, dueChannel, slots, rate } = this.keys
    const keys = limits.flatMap(({ name }) => [slots(name), rate(name)])
    const args = [dueChannel, owner, call, limits.length, ...limits.flatMap((limit) => [limit.name, specOf(limit)])]
    args.push(requests.length)
    for (const { ticket, limits: own } of requests) {
      args.push(ticket, own.length, ...own.map(({ name }) => numbers.get(name) as number))
    }
    let answers: number[]
    try {
      const all = [leases, this.keys.owner(owner), used, limitChecks, setLimits, ...keys]
      answers = (await this.server.run(lua.acquireLimits, all, args)) as unknown as number[]
    } catch (thrown) {
      const names = limits.map(({ name }) => name)
      const tickets = requests.map(({ ticket }) => ticket)
      if (!(thrown instanceof HighkiqError) || thrown.details?.sent === true)
        void this.#void(owner, call, names, tickets)
      throw thrown
    }
    const slotsOf = new Map(limits.map(({ name }, i) => [name, answers[2 * requests.length + i] as number]))
    const isSet = limits.some(({ name, max }) => slotsOf.get(name) !== max)
    return requests.map(({ limits: own }, i) => ({
      ...answerOf(answers[2 * i] as number, answers[2 * i + 1] as number),
      ...(isSet ? { slots: own.map(({ name }) => slotsOf.get(name) as number) } : {}),
    }))
  }

  async due(n: number): Promise<DueLimits> {
    const { leases, limits, limitChecks, limitedQueues, setLimits, limitPrefixes } = this.keys
    const answer = await this.server.run(
      lua.dueLimits,
      [leases, limits, limitChecks, limitedQueues, setLimits],
      [n, ...limitPrefixes],
    )
    const [next, ...rows] = answer as unknown as (string | number)[]
    const due: DueLimits = { limits: [], nextMs: next === '' ? null : Number(next) / 1000 }
    for (let i = 0; i < rows.length; i += 2) due.limits.push({ name: String(rows[i]), room: Number(rows[i + 1]) })
    return due
  }

  async postpone(names: readonly string[], ms: number): Promise<void> {
    if (names.length > 0) await this.server.run(lua.postponeLimits, [this.keys.limitChecks], [ms * 1000, ...names])
  }

  async releaseOrphanedSlots(): Promise<void> {
    const { leases, limits, limitChecks, dueChannel, slots } = this.keys
    for await (const fields of this.#pages()) {
      const names = fields.filter((_, i) => i % 2 === 0)
      await this.server.run(
        lua.releaseOrphanedSlots,
        [leases, limits, limitChecks, ...names.map(slots)],
        [dueChannel, ...names],
      )
    }
  }

  async list(names?: readonly string[]): Promise<LimitState[]> {
    const { leases, setLimits, limitPrefixes } = this.keys
    // A scan may return a limit twice.
    const states = new Map<string, LimitState>()
    for await (const fields of names ? [await this.#fieldsOf(names)] : this.#pages()) {
      const args = [...limitPrefixes, fields.length / 2, ...fields]
      const rows = (await this.server.run(lua.listLimits, [leases, setLimits], args)) as unknown as Row[]
      for (const [name, spec, setText, used, waiting, micros] of rows) {
        const code = { name, ...readSpec(spec) }
        const set = setText === '' ? undefined : readSet(setText)
        const limit = withNumbers(code, set)
        const roomMs = limit.count > 0 ? micros / 1000 : null
        states.set(name, { ...limit, ...(set ? { set, code } : {}), used, waiting, roomMs })
      }
    }
    return withUnused([...states.values()], names ? [] : await this.allSet())
  }

  /** Returns the names and the numbers of those of the limits that are in use, in turn. */
  async #fieldsOf(names: readonly string[]): Promise<string[]> {
    if (names.length === 0) return []
    const numbers = await this.server.call((client) => client.hmget(this.keys.limits, ...names))
    return names.flatMap((name, i) => (numbers[i] ? [name, numbers[i]] : []))
  }

  /** Returns the names and the numbers of all limits, in turn, a page at a time. */
  async *#pages(): AsyncGenerator<string[]> {
    let cursor = '0'
    do {
      const [next, fields] = await this.server.call((client) => client.hscan(this.keys.limits, cursor, 'COUNT', PAGE))
      if (fields.length > 0) yield fields
      cursor = next
    } while (cursor !== '0')
  }

  async release({ limit, owner, ticket }: Parameters<LimitStore['release']>[0]): Promise<void> {
    await this.#release(owner, 0, [limit], [ticket])
  }

  /** Voids a call whose answer was lost: the server may still carry it out. */
  async #void(owner: string, call: number, names: readonly string[], tickets: readonly string[]): Promise<void> {
    while (!this.server.isClosed) {
      try {
        await this.#release(owner, call, names, tickets)
        return
      } catch {
        await new Promise<void>((resolve) => setTimeout(resolve, VOID_AGAIN_MS).unref())
      }
    }
  }

  /** Releases slots, and voids the calls up to `call`. */
  async #release(owner: string, call: number, names: readonly string[], tickets: readonly string[]): Promise<void> {
    const { leases, limits, limitChecks, dueChannel, slots } = this.keys
    const keys = [leases, this.keys.owner(owner), limits, limitChecks, ...names.map(slots)]
    const args = [dueChannel, owner, call, names.length, ...names, tickets.length, ...tickets]
    await this.server.run(lua.releaseSlots, keys, args)
  }
}

function limitsOf(requests: readonly LimitRequest[]): Limit[] {
  return [...new Map(requests.flatMap(({ limits }) => limits.map((limit) => [limit.name, limit] as const))).values()]
}

function answerOf(over: number, micros: number): LimitAnswer {
  return { over: over === 0 ? null : over - 1, ms: micros / 1000 }
}

function readSpec(spec: string): Omit<Limit, 'name'> {
  const [max = 0, count = 0, per = 0, burst = 0] = spec.split(' ', 4).map(Number)
  const window = spec.slice(spec.lastIndexOf(' ') + 1) as Limit['window']
  return { max, count, per, burst, window }
}

const NUMBERS = ['max', 'count', 'per', 'burst'] as const

function readSet(text: string): LimitNumbers {
  const parts = text.split(' ')
  return Object.fromEntries(NUMBERS.flatMap((name, i) => (parts[i] === '-' ? [] : [[name, Number(parts[i])]])))
}
