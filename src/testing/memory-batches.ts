/** Batches in the memory of a test, with the rules of a store. */

import {
  BatchLedger,
  type BatchNote,
  type BatchPush,
  type BatchReader,
  type BatchState,
  type BatchTables,
  type Effect,
  type MemberState,
} from '../store/contract.ts'

export class MemoryBatches implements BatchTables, BatchReader {
  readonly #batches = new Map<
    string,
    { batch: BatchState; members: Map<string, MemberState>; notes: Map<string, string> }
  >()
  readonly #now: () => number
  /** Jobs that batches have pushed and that are not drained yet. */
  readonly #pushed: string[] = []
  readonly #holderOf: (lock: string) => string | undefined

  constructor(now: () => number, holderOf: (lock: string) => string | undefined) {
    this.#now = now
    this.#holderOf = holderOf
  }

  /** See BatchLedger.push. */
  store(push: BatchPush): ReturnType<BatchLedger['push']> {
    return this.#ledger.push(push)
  }

  apply(effects: readonly Effect[] = []): void {
    for (const effect of effects) if (effect.kind === 'batch') this.#ledger.change(effect)
  }

  /** Returns the jobs that batches have pushed since the last call. */
  drainPushed(): string[] {
    return this.#pushed.splice(0)
  }

  async find(bid: string): Promise<BatchState | null> {
    return this.load(bid) ?? null
  }

  async page({ before, limit }: Parameters<BatchReader['page']>[0]) {
    const all = Array.from(this.#batches.values(), ({ batch }) => batch).reverse()
    const from = before ? all.findIndex(({ bid }) => bid === before.bid) + 1 : 0
    const items = all.slice(from, from + limit)
    return { items, next: items.length === limit ? (items.at(-1) ?? null) : null }
  }

  async members(bid: string) {
    return { items: Array.from(this.#batches.get(bid)?.members ?? [], ([id, state]) => ({ id, state })), next: null }
  }

  async notes(bid: string): Promise<Record<string, string>> {
    return Object.fromEntries(this.#batches.get(bid)?.notes ?? [])
  }

  load(bid: string): BatchState | undefined {
    return this.#batches.get(bid)?.batch
  }

  create(batch: BatchState): void {
    this.#batches.set(batch.bid, { batch, members: new Map(), notes: new Map() })
  }

  save(): void {}

  addMembers(bid: string, ids: readonly string[]): number {
    const members = this.#batches.get(bid)?.members
    const added = ids.filter((id) => !members?.has(id))
    for (const id of added) members?.set(id, 'waiting')
    return added.length
  }

  member(bid: string, id: string): MemberState | undefined {
    return this.#batches.get(bid)?.members.get(id)
  }

  setMember(bid: string, id: string, state: MemberState | null): void {
    const members = this.#batches.get(bid)?.members
    if (state === null) members?.delete(id)
    else members?.set(id, state)
  }

  note(bid: string, { key, text }: BatchNote): void {
    this.#batches.get(bid)?.notes.set(key, text)
  }

  push(_queue: string, text: string): void {
    this.#pushed.push(text)
  }

  /** A test mode has no dead set. */
  addToDead(): void {}

  /** A test mode keeps no results. */
  keepResult(): void {}

  /** A test mode records no events. */
  record(): void {}

  holder(key: string): ReturnType<BatchTables['holder']> {
    const holder = this.#holderOf(key)
    return holder === undefined ? undefined : { holder, due: null }
  }

  get #ledger(): BatchLedger {
    return new BatchLedger(this, this.#now())
  }
}
