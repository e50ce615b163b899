import fc from 'fast-check'
import { expect } from 'vitest'
import { type FetchedBatch, type OrderedEnd, type OrderedSettleAndFetchAnswer, shardOf } from '#dist/store/contract.js'
import { type Bench, type Case, sure } from '../bench.ts'
import { chance } from '../chance.js'
import { expectInOrder, windUp } from './check.ts'
import { entriesOf, inOrder, OrderedModel, type Running } from './model.ts'
import { type HeldBatch, item, OrderedQueue, type Owner, settlement, textOfWaiting } from './ordered-queue.ts'

/**
 * Three owners push, take, settle, die, are overtaken and come late; people cancel, kill, resurrect and reshard, in any
 * order. After every step the store shows what the model says, so nothing is lost, doubled or out of order, and what is
 * fenced changes nothing; in the end an heir runs all that is left, each id once.
 */
export const orderedLife: Case[] = [
  {
    name: 'any interleaving of three owners, their deaths and actions from outside ends like the model (property)',
    seconds: 90,
    async run(t) {
      let world = 0
      const commands = fc.array(fc.constantFrom(...weighted), { minLength: 60, maxLength: 160, size: 'max' })
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 1, max: 3 }), commands, async (shards, some) => {
          const life = await Life.start(t, ++world, shards)
          for (const one of some) {
            await life[one]()
            await life.check(one)
          }
          await life.end()
        }),
        { seed: t.seed, numRuns: 30, interruptAfterTimeLimit: 10_000 },
      )
    },
  },
]

const often = [
  'push',
  'push',
  'settleAndFetch',
  'settleAndFetch',
  'settleAndFetch',
  'settleAndFetch',
  'own',
  'own',
  'late',
] as const
const atTimes = ['loseAnswer', 'die', 'die', 'pass', 'pass', 'move', 'resurrect', 'cancel'] as const
const seldom = ['release', 'leave', 'reshard', 'kill', 'delete', 'now', 'deletePayload'] as const
const weighted = [...often, ...often, ...often, ...atTimes, ...seldom]

const IDS = ['a', 'b', 'c', 'd', 'e', '~', '😀']
const MAX_CRASHES = 2

class Life {
  readonly queue: OrderedQueue
  readonly model = new OrderedModel()
  readonly random: () => number
  /** Who owns which shard, as far as it lives. */
  readonly owners = new Map<number, Owner>()
  readonly held = new Map<Owner, HeldBatch[]>()
  /** What was settled or lost, and by whom it was held. */
  readonly gone: { owner: Owner; held: HeldBatch }[] = []
  readonly tickets = new Set<string>()
  team: Owner[] = []
  resharding = false
  pushed = 0

  constructor(t: Bench, world: number, shards: number) {
    this.queue = new OrderedQueue(t, `o${world}`, shards)
    // The same for the same commands, so that a failure can be shrunk.
    this.random = chance(t.seed)
  }

  static async start(t: Bench, world: number, shards: number): Promise<Life> {
    const life = new Life(t, world, shards)
    for (let i = 0; i < 3; i++) life.team.push(await life.queue.member())
    for (const owner of life.team) life.held.set(owner, [])
    for (const owner of life.team) await life.own(owner)
    return life
  }

  get store() {
    return this.queue.store
  }

  get name() {
    return this.queue.name
  }

  dice(n: number): number {
    return Math.floor(this.random() * n)
  }

  some<T>(list: readonly T[]): T {
    return sure(list[this.dice(list.length)])
  }

  ids(): string[] {
    return [...new Set(Array.from({ length: 1 + this.dice(3) }, () => this.some(IDS)))]
  }

  get runs(): [string, Running][] {
    return [...this.model.running]
  }

  async push(): Promise<void> {
    const items = Array.from({ length: 1 + this.dice(4) }, () => {
      const performIn = this.queue.now + this.some([-3, -1, 0, 0, 0, 4, 0.5])
      const wake = this.dice(4) === 0
      return item(this.some(IDS), this.some(['u', 'v', 'w', 'x']), this.dice(9), { performIn, ...(wake && { wake }) })
    })
    await this.queue.push(...items)
    for (const one of items) this.model.push(one)
  }

  async pass(): Promise<void> {
    this.queue.now += this.some([0.5, 1, 5])
  }

  /** One asks for a shard. */
  async own(owner = this.some(this.team)): Promise<void> {
    const { owners } = sure(await this.store.ordered.assignments(this.name))
    const free = owners.filter((one) => !this.owners.has(one.shard))
    const { shard, token } = this.some(free.length > 0 && this.dice(4) > 0 ? free : owners)
    const had = this.owners.get(shard)
    if (had === owner) return
    const died = new Set(this.model.morgue.keys())
    const answer = await owner.ask(shard, MAX_CRASHES)
    if (had) return expect(answer).toBe(null)
    const deaths = this.deaths()
    const rescued = this.model.crash(shard, MAX_CRASHES)
    expect(sure(answer).token).toBeGreaterThan(token)
    expect(answer?.died).toHaveLength(this.deaths() - deaths)
    expect(sure(answer).rescued + sure(answer).died.length).toBeLessThanOrEqual(rescued + died.size)
    this.lose(shard)
    this.owners.set(shard, owner)
  }

  deaths(): number {
    return [...this.model.morgue.values()].reduce((sum, { deaths }) => sum + deaths, 0)
  }

  /** What is held of a shard is held in vain. */
  lose(shard: number): void {
    for (const [owner, held] of this.held) {
      for (const one of held) if (one.shard === shard) this.gone.push({ owner, held: one })
      this.held.set(
        owner,
        held.filter((one) => one.shard !== shard),
      )
    }
  }

  /** Some of what one holds ends, and more is taken of some of its shards. */
  async settleAndFetch(): Promise<void> {
    const owner = this.worker()
    const { turn, ends } = this.plan(owner)
    const answer = await owner.settleAndFetch(turn)
    this.settled(owner, answer, ends)
    await this.taken(owner, answer, turn)
  }

  /** Mostly one that owns something. */
  worker(): Owner {
    const able = [...this.owners.values()]
    return able.length > 0 && this.dice(8) > 0 ? this.some(able) : this.some(this.team)
  }

  plan(owner: Owner) {
    const ends = sure(this.held.get(owner)).filter(() => this.dice(2) > 0)
    const shards = [...owner.tokens.keys()].filter(() => this.dice(4) > 0)
    const turn = {
      now: this.queue.ms,
      settlements: ends.map((one) => settlement(one, this.fate(one))),
      fetch: shards.map((shard) => owner.request(this.some([0, 1, 1, 2, 3]), shard)),
      maxPayloads: this.some([1, 2, 100]),
    }
    return { turn, ends: ends.map((held, i) => ({ held, end: sure(turn.settlements[i]).end })) }
  }

  fate({ retryCount }: HeldBatch): OrderedEnd {
    const { now } = this.queue
    const state = { performIn: now + this.dice(3), retryCount: retryCount + 1, error: this.some(['x', 'y']) }
    const kinds: OrderedEnd[] = [
      { kind: 'done' },
      { kind: 'failed', state },
      { kind: 'snoozed', state },
      { kind: 'dead', error: 'd' },
      { kind: 'requeue' },
    ]
    return this.some([...kinds, ...kinds, { kind: 'cancelled' }])
  }

  settled(owner: Owner, answer: OrderedSettleAndFetchAnswer, ends: { held: HeldBatch; end: OrderedEnd }[]): void {
    for (const [i, { held, end }] of ends.entries()) {
      // Not done and nothing changed: it is asked again some time.
      if (answer.settled[i] === 'error') continue
      expect(answer.settled[i]).toBe('ok')
      this.forget(owner, held, end)
    }
  }

  forget(owner: Owner, held: HeldBatch, end: OrderedEnd): void {
    // What was cancelled counts nowhere, unless it was done.
    const isCounted = end.kind === 'failed' || end.kind === 'dead'
    if (isCounted && sure(this.model.running.get(held.id)).cancelled) this.queue.failed--
    this.model.settle(held.id, end, this.queue.now)
    const mine = sure(this.held.get(owner))
    mine.splice(mine.indexOf(held), 1)
    this.gone.push({ owner, held })
  }

  async taken(
    owner: Owner,
    answer: OrderedSettleAndFetchAnswer,
    turn: ReturnType<Life['plan']>['turn'],
  ): Promise<void> {
    for (const [i, { shard, token, n }] of turn.fetch.entries()) {
      const { lost, ids } = sure(answer.fetched[i])
      expect(lost, `shard ${shard}`).toBe(this.owners.get(shard) !== owner)
      expect(ids.length).toBeLessThanOrEqual(n)
      if (lost) expect(ids).toEqual([])
      else if (!this.resharding) expect(ids.map(({ id }) => id)).toEqual(this.dueOf(shard, n))
      for (const one of ids) {
        this.checkTaken(one, shard, turn.maxPayloads)
        sure(this.held.get(owner)).push({ ...one, shard, token })
      }
    }
    const mine = sure(this.held.get(owner))
    const cancelled = mine.filter(({ id }) => this.model.running.get(id)?.cancelled)
    expect(answer.cancelled.map(({ ticket }) => ticket).sort()).toEqual(cancelled.map(({ ticket }) => ticket).sort())
  }

  /** What a shard has to give: earliest first, none that is in flight, a suspect only by itself. */
  dueOf(shard: number, n: number): string[] {
    const { shards } = this.queue
    const inFlight = this.runs.filter(([, one]) => one.shard === shard)
    const due = [...this.model.waiting]
      .filter(([id]) => shardOf(id, this.shardCount ?? shards) === shard && !this.model.running.has(id))
      .filter(([, { performIn }]) => performIn <= this.queue.now)
      .sort(([a, x], [b, y]) => x.performIn - y.performIn || Buffer.compare(Buffer.from(a), Buffer.from(b)))
    if (n === 0 || inFlight.some(([, one]) => one.suspect)) return []
    const [first] = due
    if (first?.[1].suspect) return inFlight.length === 0 ? [first[0]] : []
    const stop = due.findIndex(([, one]) => one.suspect)
    return due.slice(0, Math.min(n, stop < 0 ? n : stop)).map(([id]) => id)
  }

  shardCount?: number

  checkTaken(one: FetchedBatch, shard: number, most: number): void {
    expect(this.model.running.has(one.id), `${one.id} is in flight already`).toBe(false)
    expect(this.tickets.has(`${one.id} ${one.ticket}`)).toBe(false)
    this.tickets.add(`${one.id} ${one.ticket}`)
    const { payloads, shard: _, cancelled: __, ...known } = this.model.fetch(one.id, shard, most)
    const { id, ticket, ...said } = one
    expect(said, `what is known of ${id} (${ticket})`).toEqual({ ...known, payloads: inOrder(payloads) })
    expect(known.performIn).toBeLessThanOrEqual(this.queue.now)
  }

  /** A turn is done and its answer lost: it is asked again, and what came is found. */
  async loseAnswer(): Promise<void> {
    const owner = this.worker()
    const { turn, ends } = this.plan(owner)
    const first = await owner.settleAndFetch(turn)
    this.settled(owner, first, ends)
    const again = await owner.settleAndFetch({ ...turn, fetch: [] })
    expect(again.settled).toEqual(first.settled.map((one) => (one === 'ok' ? 'fenced' : one)))
    await this.taken(owner, first, turn)
    const known = new Set(sure(this.held.get(owner)).map(({ ticket }) => ticket))
    const found = await this.store.ordered.inFlight(this.name, owner.name)
    const lost = found.filter(({ ticket }) => first.fetched.some(({ ids }) => ids.some((one) => one.ticket === ticket)))
    expect(found.map(({ ticket }) => ticket).sort()).toEqual([...known].sort())
    const held = sure(this.held.get(owner)).filter((one) => lost.some(({ ticket }) => ticket === one.ticket))
    const back = held.map((one) => ({ held: one, end: { kind: 'requeue' } as const }))
    this.settled(
      owner,
      await owner.settleAndFetch({ settlements: back.map((one) => settlement(one.held, one.end)) }),
      back,
    )
  }

  /** An owner settles what was settled, or what it lost, perhaps as another owner. */
  async late(): Promise<void> {
    const again = this.gone.filter(({ held }) => this.model.running.has(held.id))
    const some = again.length > 0 && this.dice(3) > 0 ? again : this.gone
    const old = some.at(-1 - this.dice(Math.min(8, some.length)))
    if (!old) return
    const owner = this.dice(3) > 0 ? old.owner : this.some(this.team)
    const token = this.dice(3) > 0 ? old.held.token : (owner.tokens.get(old.held.shard) ?? 0)
    const end = this.fate(old.held)
    expect(await owner.answers(end, { ...old.held, token })).toEqual(['fenced'])
  }

  async die(): Promise<void> {
    const owner = this.worker()
    await owner.die()
    const held = sure(this.held.get(owner))
    expect(await owner.answers({ kind: 'done' }, ...held)).toEqual(held.map(() => 'fenced'))
    for (const [shard, its] of this.owners) if (its === owner) this.owners.delete(shard)
    for (const one of held) this.gone.push({ owner, held: one })
    this.held.delete(owner)
    const next = await this.queue.member()
    this.team = [...this.team.filter((one) => one !== owner), next]
    this.held.set(next, [])
  }

  async release(): Promise<void> {
    const owner = this.some(this.team)
    const [shard, token] = this.some([...owner.tokens, [0, 0] as const])
    const isOwner = this.owners.get(shard) === owner
    expect(await this.store.ordered.releaseShard(this.name, shard, owner.name, token, this.queue.ms)).toBe(
      isOwner && token > 0,
    )
    if (isOwner && token > 0) this.free(shard)
  }

  /** What is in flight in a shard goes back. */
  free(shard: number): void {
    for (const [id, one] of this.runs) {
      if (one.shard === shard) this.model.settle(id, { kind: 'requeue' }, this.queue.now)
    }
    this.lose(shard)
    this.owners.delete(shard)
  }

  async leave(): Promise<void> {
    const owner = this.some(this.team)
    await this.store.ordered.leave(this.name, owner.name, this.queue.ms)
    for (const [shard, its] of this.owners) if (its === owner) this.free(shard)
    expect(await this.store.ordered.join(this.name, owner.name)).toBe(true)
  }

  async resurrect(): Promise<void> {
    const ids = this.ids()
    const n = await this.store.ordered.resurrect(this.name, ids, this.queue.ms)
    expect(n).toBe(ids.filter((id) => this.model.resurrect(id, this.queue.now)).length)
  }

  async cancel(): Promise<void> {
    const ids = this.ids()
    const answers = await this.store.ordered.cancel(this.name, ids)
    for (const [i, id] of ids.entries()) {
      const running = this.model.running.get(id)
      const waited = this.model.waiting.delete(id)
      if (running) running.cancelled = true
      expect(answers[i]).toBe(running ? 'signalled' : waited ? 'removed' : 'not-found')
    }
  }

  async act(act: 'now' | 'delete' | 'kill'): Promise<void> {
    const ids = this.ids()
    const failed = this.dice(2) === 0
    const n = await this.store.ordered.act(this.name, act, ids, { now: this.queue.ms, failed, error: 'k' })
    const there = ids.filter((id) => (this.model.waiting.get(id)?.retryCount ?? -2) >= (failed ? 0 : -1))
    expect(n).toBe(there.length)
    for (const id of there) {
      const one = sure(this.model.waiting.get(id))
      if (act === 'now') one.performIn = Math.min(one.performIn, this.queue.now)
      else this.model.waiting.delete(id)
      if (act === 'kill') this.model.addDead(id, one.payloads, 'k')
    }
  }

  kill = () => this.act('kill')
  delete = () => this.act('delete')
  now = () => this.act('now')

  async deletePayload(): Promise<void> {
    const [id, payload] = [this.some(IDS), JSON.stringify(this.some(['u', 'v', 'w', 'x']))]
    const one = this.model.waiting.get(id)
    const wasThere = one?.payloads.delete(payload) ?? false
    if (one?.payloads.size === 0) this.model.waiting.delete(id)
    expect(await this.store.ordered.deletePayload(this.name, id, payload)).toBe(wasThere)
  }

  async reshard(): Promise<void> {
    const { shards, from } = sure(await this.store.ordered.assignments(this.name))
    const target = 1 + this.dice(4)
    expect(await this.store.ordered.reshard(this.name, target)).toBe(from === null || shards === target)
    const assignments = sure(await this.store.ordered.assignments(this.name))
    if (from === null) this.shardCount = assignments.shards
    expect(assignments.shards).toBe(from === null ? target : shards)
  }

  async move(): Promise<void> {
    await this.store.ordered.moveShards(this.name)
  }

  /** Everything that is shown is what the model says. */
  async check(after: string): Promise<void> {
    const { store, name, model } = this
    const [found, all, busy, morgue, { processed, failed }] = await Promise.all([
      store.ordered.assignments(name),
      this.queue.all('id'),
      this.queue.busy(),
      store.ordered.morgue(name, 'id', { limit: 100 }),
      this.queue.sums(),
    ])
    const assignments = sure(found)
    this.resharding = assignments.from !== null
    // A shard that is no more has no owner; who lost one knows by the token.
    for (const shard of [...this.owners.keys()]) {
      if (assignments.owners[shard]) continue
      expect(this.runs.filter(([, one]) => one.shard === shard)).toEqual([])
      this.owners.delete(shard)
    }
    for (const { shard, owner, token } of assignments.owners) {
      const its = this.owners.get(shard)
      expect(owner, `owner of ${shard} after ${after}`).toBe(its?.name ?? null)
      if (its) expect(its.tokens.get(shard)).toBe(token)
    }
    const waiting = all.map(textOfWaiting)
    const wanted = [...model.waiting]
      .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map(([id, { payloads, ...known }]) => textOfWaiting({ id, payloads: inOrder(payloads), ...known }))
    expect(waiting, `what waits after ${after}`).toEqual(wanted)
    expect(busy, `in flight after ${after}`).toEqual([...model.running.keys()].sort())
    const entries = morgue.map(({ updatedAt: _, ...entry }) => entry)
    expect(entries, `the morgue after ${after}`).toEqual(entriesOf(model))
    expect([processed, failed], `counts after ${after}`).toEqual([this.queue.processed, this.queue.failed])
  }

  /** All that is left is run by an heir: each id once, with all that it had and that was not cancelled. */
  async end(): Promise<void> {
    await expectInOrder(this.queue)
    for (const [id, one] of this.runs)
      this.model.settle(id, one.cancelled ? { kind: 'cancelled' } : { kind: 'requeue' }, 0)
    const wanted = [...this.model.waiting].map(([id, { payloads }]) => ({ id, payloads: inOrder(payloads) }))
    const ran = await windUp(this.queue)
    const byName = (list: { id: string }[]) => list.sort((a, b) => (a.id < b.id ? -1 : 1))
    expect(byName(ran)).toEqual(byName(wanted))
  }
}
