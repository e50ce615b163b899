import type { MorgueEntry, OrderedEnd, OrderedPush, OrderedState, ScoredPayload } from '#dist/store/contract.js'
import { sure } from '../bench.ts'

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** What is known of an id beside its payloads. */
export interface Known extends OrderedState {
  crashes: number
  suspect: boolean
}

export interface Bundle extends Known {
  /** Payload → score. */
  payloads: Map<string, number>
}

export type Running = Bundle & { shard: number; cancelled: boolean }

export const inOrder = (payloads: Map<string, number>): ScoredPayload[] =>
  [...payloads].sort(([a, x], [b, y]) => x - y || byBytes(a, b))

/** An ordered queue in memory: what waits, what is in flight, what is dead, and nothing of shards. */
export class OrderedModel {
  readonly waiting = new Map<string, Bundle>()
  readonly running = new Map<string, Running>()
  readonly morgue = new Map<string, { payloads: Map<string, number>; deaths: number; error: string | null }>()

  push({ id, payload, score, performIn, wake }: OrderedPush): void {
    const one = this.waiting.get(id)
    this.merge(id, [[payload, score]], one ?? { performIn, retryCount: -1, error: null, crashes: 0, suspect: false })
    if (one && wake) one.performIn = Math.min(one.performIn, performIn)
  }

  merge(id: string, payloads: Iterable<ScoredPayload>, known: Known): void {
    const one: Bundle = this.waiting.get(id) ?? { ...known, payloads: new Map() }
    const { performIn, retryCount, error, crashes, suspect } = known
    this.waiting.set(id, Object.assign(one, { performIn, retryCount, error, crashes, suspect }))
    for (const [text, score] of payloads) one.payloads.set(text, Math.min(score, one.payloads.get(text) ?? score))
  }

  fetch(id: string, shard: number, most: number): Running {
    const { payloads, ...known } = sure(this.waiting.get(id))
    const [some, rest] = [inOrder(payloads).slice(0, most), inOrder(payloads).slice(most)]
    this.waiting.delete(id)
    if (rest.length > 0) this.merge(id, rest, { ...known, retryCount: -1, error: null, crashes: 0, suspect: false })
    const running = { ...known, payloads: new Map(some), shard, cancelled: false }
    this.running.set(id, running)
    return running
  }

  settle(id: string, end: OrderedEnd, now: number): void {
    const { payloads, cancelled, ...known } = sure(this.running.get(id))
    const clear = { crashes: 0, suspect: false }
    this.running.delete(id)
    if (end.kind === 'done' || end.kind === 'cancelled' || cancelled) return
    if (end.kind === 'requeue') this.merge(id, payloads, known)
    if ('state' in end) this.merge(id, payloads, { ...end.state, ...clear })
    if (end.kind !== 'dead') return
    const [first, ...rest] = inOrder(payloads)
    this.addDead(id, [sure(first)], end.error)
    if (rest.length > 0) this.merge(id, rest, { performIn: now, retryCount: -1, error: end.error, ...clear })
  }

  addDead(id: string, payloads: Iterable<ScoredPayload>, error: string | null): void {
    const one = this.morgue.get(id) ?? { payloads: new Map(), deaths: 0, error }
    for (const [text, score] of payloads) one.payloads.set(text, one.payloads.get(text) ?? score)
    this.morgue.set(id, Object.assign(one, { deaths: one.deaths + 1, error }))
  }

  /** A shard is taken over. Answers how many were in flight there. */
  crash(shard: number, most: number): number {
    const lost = [...this.running].filter(([, one]) => one.shard === shard)
    for (const [id, one] of lost) {
      const crashes = one.crashes + (lost.length === 1 && !one.cancelled ? 1 : 0)
      if (crashes < most || one.cancelled) {
        Object.assign(one, { crashes, suspect: one.suspect || lost.length > 1 })
        this.settle(id, { kind: 'requeue' }, 0)
        continue
      }
      this.running.delete(id)
      this.addDead(id, one.payloads, `crashed ${crashes} times`)
    }
    return lost.length
  }

  resurrect(id: string, now: number): boolean {
    const one = this.morgue.get(id)
    if (one)
      this.merge(id, one.payloads, { performIn: now, retryCount: -1, error: one.error, crashes: 0, suspect: false })
    return this.morgue.delete(id)
  }
}

/** As the store would tell it. */
export function entriesOf(model: OrderedModel): Pick<MorgueEntry, 'id' | 'payloads' | 'deaths' | 'error'>[] {
  const entries = [...model.morgue].map(([id, { payloads, ...more }]) => ({ id, payloads: inOrder(payloads), ...more }))
  return entries.sort((a, b) => byBytes(a.id, b.id))
}
