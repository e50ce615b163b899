import { expect } from 'vitest'
import type {
  Destination,
  FetchedJob,
  PushItem,
  SettleAndFetch,
  SettleAndFetchAnswer,
  Settlement,
  Store,
} from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { chance } from './chance.js'
import type { AppClient, EmptyStore, StoreFactory } from './factory.ts'

/** One requirement on a store, and the steps that check it. */
export interface Case {
  name: string
  /** Needs a second connection to the same data: skipped where the factory says `shared: false`. */
  shared?: boolean
  /** More than the usual time limit, in seconds. */
  seconds?: number
  run(t: Bench): Promise<void>
}

/** A list whose length the case knows. Using a missing item fails the case. */
export type Several<T> = [T, T, T, T, T, T, ...T[]]

/** Noon of a day in the past: the caller's clock in every case. */
export const NOW = Date.UTC(2026, 4, 17, 12)

export interface Bench {
  readonly url: string
  readonly store: Store
  /** See `StoreFactory.module`. */
  readonly module: string | undefined
  /** Seeds everything random in this case; HIGHKIQ_TEST_SEED sets it. */
  readonly seed: number
  random(): number
  /** A whole number below `n`. */
  dice(n: number): number
  /** Opens a second connection to the same data, as another process would, or to another URL. */
  another(url?: string): Promise<Store>
  /** The URL of one more, empty store. */
  emptyStore(): Promise<string>
  /** Opens one more, empty store. */
  anotherEmpty(): Promise<Store>
  /** Returns what the store has beside leases, read without the store; nothing for a store in memory. */
  contents(): Promise<string[]>
  disturb(): Promise<void>
  /** Opens a connection of an app to the same data, where the factory can. */
  connect(): Promise<AppClient>
  /** A payload as Sidekiq writes it, different for every `n`. */
  job(n: number | string, more?: Record<string, unknown>): string
  /** Pushes texts to the back of a queue. */
  push(queue: string, ...texts: string[]): Promise<void>
  /** The name of an owner that has just joined. */
  owner(about?: { store?: Store; seconds?: number; host?: string; queues?: string[] }): Promise<string>
  /** An owner's name never used before, not joined. */
  ownerName(): string
  settleAndFetch(
    owner: string,
    request: Partial<SettleAndFetch>,
    store?: Store,
  ): Promise<SettleAndFetchAnswer & { fetched: Several<FetchedJob> }>
  fetch(owner: string, queues: string | string[], n?: number, store?: Store): Promise<Several<FetchedJob>>
  /** The texts of a queue, next first. */
  waiting(queue: string): Promise<Several<string>>
}

const SEED = Number(process.env.HIGHKIQ_TEST_SEED ?? 20260517)

/** Runs `use` with an empty store, then removes it. `wrap` puts a fault between the cases and the store (broken.test.ts). */
export async function withBench(
  factory: StoreFactory,
  use: (t: Bench) => Promise<void>,
  wrap: (store: Store) => Store = (store) => store,
): Promise<void> {
  const stores: Store[] = []
  const created: EmptyStore[] = []
  const clients: AppClient[] = []
  const random = chance(SEED)
  let owners = 0

  const open = async (url: string) => {
    const store: Store = await openStore(url)
    stores.push(store)
    return wrap(store)
  }
  const emptyStore = async () => {
    const made = await factory.create()
    created.push(made)
    return made.url
  }

  try {
    const url = await emptyStore()
    const store = await open(url)
    await use({
      url,
      store,
      module: factory.module,
      seed: SEED,
      random,
      dice: (n) => Math.floor(random() * n),
      another(where = url) {
        if (!factory.shared) throw new Error('the case needs a second connection and does not say so')
        return open(where)
      },
      emptyStore,
      anotherEmpty: async () => open(await emptyStore()),
      contents: async () => (await created[0]?.contents?.()) ?? [],
      async connect() {
        const client = await created[0]?.connect?.()
        if (!client) throw new Error('the store has pushThrough, and its factory does not connect apps')
        clients.push(client)
        return client
      },
      disturb: async () => created[0]?.disturb?.(),
      job,
      async push(queue, ...texts) {
        await store.jobs.push(
          texts.map((text) => toQueue(queue, text)),
          NOW,
        )
      },
      ownerName: () => `host:${process.pid}:${++owners}`,
      async owner(about = {}) {
        const name = `host:${process.pid}:${++owners}`
        const { queues = ['q'], seconds = 60, host = 'here' } = about
        expect(await (about.store ?? store).workers.join(name, { queues, seconds, host })).toBe(true)
        return name
      },
      settleAndFetch: (owner, part, by = store) =>
        by.workers.settleAndFetch(owner, requestOf(part)) as Promise<
          SettleAndFetchAnswer & { fetched: Several<FetchedJob> }
        >,
      async fetch(owner, queues, n = 1, by = store) {
        const names = typeof queues === 'string' ? [queues] : queues
        const answer = await by.workers.settleAndFetch(owner, requestOf({ fetch: { queues: names, n } }))
        expect(answer.fenced).toBe(false)
        return answer.fetched as Several<FetchedJob>
      },
      waiting: (queue) => store.jobs.peek(queue, 0, 10_000) as Promise<Several<string>>,
    })
  } finally {
    for (const client of clients) await client.end()
    for (const store of stores) await store.close()
    for (const made of created) await made.destroy()
  }
}

/** Returns a request with only the members of `part`. */
export function requestOf(part: Partial<SettleAndFetch>): SettleAndFetch {
  return { now: NOW, started: [], settlements: [], fetch: { queues: [], n: 0 }, ...part }
}

export function job(n: number | string, more: Record<string, unknown> = {}): string {
  const jid = Buffer.from(`jid-of-${n}`.padStart(12, '0').slice(-12)).toString('hex')
  return JSON.stringify({ class: 'HardJob', args: [n], queue: 'q', jid, created_at: NOW, retry: true, ...more })
}

// ------------------------------------------------------------------------------------------ where jobs go

export function toQueue(queue: string, text: string, end: 'front' | 'back' = 'back'): Destination & PushItem {
  return { to: 'queue', queue, text, end }
}

/** The handler returned. */
export function done(fetched: FetchedJob, more: Partial<Settlement> = {}): Settlement {
  return { queue: fetched.queue, ticket: fetched.ticket, move: null, processed: 1, failed: 0, ...more }
}

/** The handler failed: to the retry set. */
export function retry(fetched: FetchedJob, score: number, more: Partial<Settlement> = {}): Settlement {
  return done(fetched, { move: { to: 'retry', text: fetched.text, score }, failed: 1, ...more })
}

/** The attempt is undone: the job goes back to the front of its queue. */
export function release(fetched: FetchedJob, more: Partial<Settlement> = {}): Settlement {
  return done(fetched, { move: toQueue(fetched.queue, fetched.text, 'front'), processed: 0, ...more })
}

export function textsOf(items: { text: string }[]): string[] {
  return items.map(({ text }) => text)
}

// -------------------------------------------------------------------------------------------------- time

/** Repeats `probe` until it returns something truthy. */
export async function until<T>(what: string, probe: () => Promise<T | false | null>, seconds = 5): Promise<T> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const answer = await probe()
    if (answer) return answer
    if (performance.now() > end) throw new Error(`${what}: not within ${seconds} s`)
    await pause(15)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Returns the result of a promise, and after how many milliseconds. */
export async function timed<T>(promise: Promise<T>): Promise<{ ms: number; value: T }> {
  const start = performance.now()
  const value = await promise
  return { ms: performance.now() - start, value }
}

/** Returns a value that the case knows to exist. */
export function sure<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('the case expected something to be here')
  return value
}
