import { Redis } from 'ioredis'
import type {
  Entry,
  FetchedJob,
  OrphanedJob,
  Pull,
  PushItem,
  Settlement,
  Started,
  Store,
  Swap,
} from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { done, job, NOW, release, requestOf, retry, sure, toQueue } from '../conformance/bench.ts'
import { begin, change, finish, jidOf, moveToDead, postpone, rows, spec } from '../conformance/tasks/tracked.ts'
import { type Contents, contents, locationsOf } from './census.ts'

const told = { queue: 'told', template: '{"class":"Told","queue":"told"}' }

export const TASK = spec(1, {
  queue: 'rows',
  window: 4,
  producer: 'producer',
  keepArgs: 'rejected',
  onDone: told,
  onFailure: told,
})

const UNLOCK = { kind: 'release-lock', lock: 'mine', holder: 'c1' } as const

/** A database with jobs and rows in all states. */
/** The keys that hold a stream when all is well. */
export const STREAMS: readonly string[] = ['hk:events', 'hk:finished:packs']

export class World {
  readonly store: Store
  readonly redis: Redis
  started: Started[] = []
  settlements: Settlement[] = []
  swaps: Swap[] = []
  orphaned: OrphanedJob[] = []
  taken = { q: 0, rows: 0 }
  /** True once an operation has made what else it needs. */
  extra = false
  /** A fetched job of several rows. */
  several: FetchedJob | 'settled' | undefined
  readonly #broken = new Map<string, string>()

  constructor(url: string) {
    this.store = openStore(url)
    this.redis = new Redis(url)
  }

  /**
   * Row 0 of the task is finished, 3 rejected, 2 dead, 1 in the retry set; 4 runs with A, for whom 7 arrived during a
   * wait; 6 belongs to B, who died; 8 is in the queue, 5 in the backlog, and 9 to 11 were never in the window.
   */
  static async make(url: string): Promise<World> {
    const w = new World(url)
    const { store } = w
    const wait = async (owner: string, queue: string) =>
      sure((await store.workers.waitForJobs(owner, [queue], 1, 1000, new AbortController().signal))[0])
    const fetch = async (owner: string, queue: string, n: number) => {
      const { fetched: taken } = await store.workers.settleAndFetch(owner, requestOf({ fetch: { queues: [queue], n } }))
      if (taken.length !== n) throw new Error(`${owner} took ${taken.length} of ${n}`)
      return taken
    }
    const settle = async (settlements: Settlement[], started: Started[] = []) => {
      await store.workers.settleAndFetch('A', requestOf({ settlements, started }))
    }
    const about = { queues: ['q', 'rows'], seconds: 600, host: 'here' }
    await Promise.all(['A', 'B', 'idle', 'producer'].map((name) => store.workers.join(name, about)))
    await store.jobs.push(
      [1, 2, 3, 4, 5, 6, 7, 8].map((n) => toQueue('q', job(n))),
      NOW,
    )
    const waiting = ['r1', 'r2', 'r3'].map((n, i) => ({ text: job(n), score: i + 1 }))
    await store.jobs.push(
      [...waiting.map((one) => ({ ...one, to: 'retry' as const })), dead('d1'), scheduled('s1')],
      NOW,
    )
    await store.tasks.create(TASK)
    const rejected = { status: 'failed' as const, code: 'bad', messages: [] }
    await store.tasks.addRows(
      TASK.id,
      'producer',
      0,
      rows(0, 12).map((row, i) => (i === 3 ? { ...row, rejected } : row)),
      NOW,
    )

    const [one, two, three] = (await fetch('A', 'q', 3)) as [FetchedJob, FetchedJob, FetchedJob]
    const [row0, row1, row2, row4] = (await fetch('A', 'rows', 4)) as [FetchedJob, FetchedJob, FetchedJob, FetchedJob]
    await settle(
      [],
      [row0, row1, row2, row4].map((row) => begin(row)),
    )
    await settle([finish(row0), postpone(row1, 4), moveToDead(row2, 5)])
    const [row5] = (await fetch('A', 'rows', 1)) as [FetchedJob]
    await settle([postpone(row5, 6)])
    await store.jobSets.swap(
      'retry',
      [{ ...entry(row5, 6), to: toQueue('rows', row5.text), effects: [enters(row5)] }],
      NOW,
    )
    await fetch('B', 'q', 1)
    await fetch('B', 'rows', 1)
    await wait('B', 'q')
    await store.workers.claim('B')
    w.orphaned = await store.workers.orphaned(10)
    const arrived = await wait('A', 'q')
    const row7 = await wait('A', 'rows')

    const state = { executions: 1, runtime: 1, cursor: '7' }
    w.started = [begin(row7)]
    w.settlements = [
      done(one, { effects: [UNLOCK] }),
      retry(two, 7, { move: dead('x', two.text) }),
      retry(three, 8, { effects: [{ kind: 'iteration', jid: 'three', state }] }),
      release(arrived),
      finish(row4, { result: '1' }),
      postpone(row7, 9),
    ]
    w.swaps = [
      { ...(waiting[0] as Entry), to: toQueue('q', job('r1')) },
      { ...(waiting[1] as Entry), to: dead('r2') },
      { ...(waiting[2] as Entry), to: null, effects: [UNLOCK] },
      { ...entry(row1, 4), to: toQueue('rows', row1.text), effects: [enters(row1)] },
    ]
    await store.crons.define('nightly', { old: null, text: 'nightly', tick: 1 }, 600)
    const item = { to: 'schedule', text: job('c1'), score: 2 } as const
    const push = { jid: 'c1', item, lock: 'mine' }
    await store.crons.tick('nightly', { text: 'nightly', from: 1, to: 2, push }, NOW)
    await store.workers.heartbeat(
      { identity: 'here:1:a', info: '{}', concurrency: 1, busy: 0, beat: NOW, quiet: false, rss: 1 },
      60,
    )
    await store.workers.signal('here:1:a', 'TERM')
    return w
  }

  /** Fetches no more jobs than are still missing. */
  fetches(queue: 'q' | 'rows') {
    return { fetch: { queues: [queue], n: 3 - this.taken[queue] } }
  }

  row(index: number): string {
    return JSON.stringify({ class: 'RowJob', args: [index], jid: jidOf(TASK.id, index), hk_run: 1 })
  }

  /** Removes the jobs that are still there. Returns what kept it from that. */
  async pull(queue: string, pulls: Pull[]): Promise<string> {
    const waiting = await this.store.jobs.peek(queue, 0, 100)
    const left = pulls.filter(({ text }) => waiting.includes(text))
    const answers = await this.store.search.pull(queue, left, NOW)
    return answers.every((answer) => answer === 'ok') ? '' : answers.join()
  }

  /** Pushes the jobs that are nowhere yet. */
  async push(items: PushItem[]): Promise<string> {
    const before = locationsOf(await this.contents())
    const idOf = ({ text }: PushItem) => (JSON.parse(text) as { jid: string }).jid
    try {
      await this.store.jobs.push(
        items.filter((item) => !before.has(idOf(item))),
        NOW,
      )
      return ''
    } catch (thrown) {
      const { message, maybePushed } = thrown as Error & { maybePushed?: boolean }
      const after = locationsOf(await this.contents())
      const stored =
        items.filter((item) => after.has(idOf(item))).length - items.filter((item) => before.has(idOf(item))).length
      if (maybePushed !== stored > 0) return `${message} (maybePushed is ${maybePushed}, ${stored} are stored)`
      return message
    }
  }

  /** Replaces a key by one of another type. */
  async break(key: string, value: 'a stream' | 'no number' | 'no stream'): Promise<void> {
    this.#broken.set(key, (await this.redis.exists(key)) ? `away ${key}` : '')
    if (this.#broken.get(key)) await this.redis.rename(key, `away ${key}`)
    if (value === 'a stream') await this.redis.xadd(key, '*', 'what', value)
    else if (value === 'no number') await this.redis.set(key, value)
    else await this.redis.sadd(key, value)
  }

  async mend(): Promise<void> {
    for (const [key, away] of this.#broken) {
      const type = await this.redis.type(key)
      const isStream = type === 'stream' && !STREAMS.includes(key)
      if (
        isStream ||
        (type === 'set' && STREAMS.includes(key)) ||
        (type === 'string' && isStrange(await this.redis.get(key)))
      ) {
        await this.redis.del(key)
        if (away) await this.redis.rename(away, key)
      }
    }
    this.#broken.clear()
  }

  /** Restores the replaced key, unless it was created anew. */
  async contents(): Promise<Contents> {
    const all = await contents(this.redis)
    for (const [key, away] of this.#broken) {
      const { [away]: right } = all
      delete all[away]
      if (isStrange(all[key])) all[key] = right
      if (all[key] === undefined) delete all[key]
    }
    return all
  }

  async close(): Promise<void> {
    this.redis.disconnect()
    await this.store.close()
  }
}

function isStrange(value: unknown): boolean {
  return value === 'a stream' || value === 'no number'
}

function dead(n: string, text = job(n)) {
  return { to: 'dead' as const, text, score: 1 }
}

function scheduled(n: string) {
  return { to: 'schedule' as const, text: job(n), score: 1 }
}

function entry({ text }: { text: string }, score: number): Entry {
  return { text, score }
}

function enters(taken: { text: string }) {
  return change(taken, { status: 'enqueued', window: 'enter' })
}
