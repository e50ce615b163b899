import { expect } from 'vitest'
import type { SetName, Store } from '#dist/store/contract.js'
import { type Bench, type Case, pause, sure } from '../bench.ts'
import { expectExact } from '../tasks/tracked.ts'
import { CLOCK, change, idOf, later, queueOf, TASK } from './stories.js'
import { type Intent, inPairs, startVictim } from './victims.ts'

/** How many calls the victim's life has. */
const LIFE = 18
const CHURNS = 5

/** A process that is killed at any point loses nothing and doubles nothing. */
export const crash: Case[] = [
  {
    name: 'a process killed between any two calls leaves every job in exactly one place',
    shared: true,
    seconds: 120,
    async run(t) {
      await inPairs(
        Array.from({ length: LIFE }, (_, i) => i + 1),
        async (k) => {
          const url = await t.emptyStore()
          const lines = await startVictim(t, url, 'life', k, t.seed).lines
          expect(lines.at(-1)).toEqual({ at: 'done', call: k })
          await inspect(t, url, lines)
        },
      )
    },
  },
  {
    name: 'a process killed at any moment leaves every job in exactly one place',
    shared: true,
    seconds: 120,
    async run(t) {
      const waits = Array.from({ length: CHURNS }, () => 20 + t.dice(300))
      await inPairs(waits, async (ms, i) => {
        const url = await t.emptyStore()
        const victim = startVictim(t, url, 'churn', 0, t.seed + i)
        await Promise.race([victim.begun, victim.lines])
        await pause(ms)
        victim.process.kill('SIGKILL')
        await inspect(t, url, await victim.lines)
      })
    },
  },
]

/** Checks the store after a victim was killed: before the rescue, after it, and after all jobs have run. */
async function inspect(t: Bench, url: string, lines: Intent[]): Promise<void> {
  const store = await t.another(url)
  const said = summaryOf(lines)

  // The owners of the killed process are claimed; every job must be in one place.
  for (const { owner, claimed } of await store.workers.leases()) {
    if (!claimed) expect(await store.workers.claim(owner)).toBe(true)
  }
  const found = await locationsOf(store)
  expectLocations(said, found)
  await expectCounters(store, said, found)
  await expectRows(store, said, found)

  // After the rescue every job is still in one place, and none is with an owner.
  const orphaned = await store.workers.orphaned(10_000)
  const items = orphaned.map(({ owner, queue, ticket, text }) => ({
    owner,
    queue,
    ticket,
    to: { to: 'queue', queue, text: later(text), end: 'front' } as const,
    effects: change(text, 'enqueued', 'keep', 1),
  }))
  expect(await store.workers.rescue(items, CLOCK)).toEqual(items.map(() => 'ok'))
  expect(await store.workers.rescue(items, CLOCK)).toEqual(items.map(() => 'gone'))
  const rescued = await locationsOf(store)
  expect([...rescued.keys()].sort()).toEqual([...found.keys()].sort())
  expectLocations(said, rescued)
  expect(await store.metrics.totals()).toMatchObject({ fetched: 0 })
  await expectRows(store, said, rescued)

  await workOff(t, store, rescued)
}

interface Summary {
  /** Jobs whose push was acknowledged. */
  pushed: Set<string>
  /** Jobs that may be there, or not. */
  perhapsPushed: Set<string>
  done: Set<string>
  processed: number
  failed: number
  /** What the call that was not acknowledged would have settled. */
  open: { id: string; fate: string }[]
  rows: number
  perhapsRows: number
  hasTask: boolean | null
}

function summaryOf(lines: Intent[]): Summary {
  const acknowledged = new Set(lines.filter(({ at }) => at === 'done').map(({ call }) => call))
  const said: Summary = {
    pushed: new Set(),
    perhapsPushed: new Set(),
    done: new Set(),
    processed: 0,
    failed: 0,
    open: [],
    rows: 0,
    perhapsRows: 0,
    hasTask: false,
  }
  for (const line of lines) {
    if (line.at !== 'intend') continue
    const { what, pushes = [], settles = [], rows = 0 } = line.does
    const sure = acknowledged.has(line.call)
    for (const id of pushes) (sure ? said.pushed : said.perhapsPushed).add(id)
    if (what === 'createTask') said.hasTask = sure ? true : null
    if (!sure) {
      said.open = settles
      said.perhapsRows = rows
      continue
    }
    said.rows += rows
    for (const { id, fate } of settles) {
      if (fate === 'done') said.done.add(id)
      if (fate !== 'front') said.processed++
      if (fate === 'retry' || fate === 'dead') said.failed++
    }
  }
  return said
}

type Location = 'queue' | 'owner' | SetName

/** Returns where every job is. A job in two places fails. */
async function locationsOf(store: Store): Promise<Map<string, Location>> {
  const found = new Map<string, Location>()
  const put = (text: string, place: Location) => {
    const id = idOf(text)
    if (found.has(id)) throw new Error(`job ${id} is in ${found.get(id)} and in ${place}`)
    found.set(id, place)
  }
  for (const { name } of await store.jobs.queues()) {
    for (const text of await store.jobs.peek(name, 0, 10_000)) put(text, 'queue')
  }
  for (const { text } of await store.workers.orphaned(10_000)) put(text, 'owner')
  for (const set of ['retry', 'schedule', 'dead', 'finished'] as const) {
    for (const { text } of await store.jobSets.page(set, { limit: 10_000 })) put(text, set)
  }
  return found
}

function expectLocations(said: Summary, found: Map<string, Location>): void {
  const perhapsDone = new Set(said.open.filter(({ fate }) => fate === 'done').map(({ id }) => id))
  const lost = [...said.pushed].filter((id) => !found.has(id) && !said.done.has(id) && !perhapsDone.has(id))
  expect(lost, 'lost jobs').toEqual([])
  const back = [...said.done].filter((id) => found.has(id))
  expect(back, 'settled jobs that are back').toEqual([])
  const strange = [...found.keys()].filter(
    (id) => id.includes('/') && !said.pushed.has(id) && !said.perhapsPushed.has(id),
  )
  expect(strange, 'jobs that nobody pushed').toEqual([])
}

/** Checks the settlements of a call without an answer by the destinations of its jobs. */
async function expectCounters(store: Store, said: Summary, found: Map<string, Location>): Promise<void> {
  let { processed, failed } = said
  for (const { id, fate } of said.open) {
    if (fate === 'done' && !found.has(id)) processed++
    if (fate === 'finished' && found.get(id) === fate) processed++
    if ((fate === 'retry' || fate === 'dead') && found.get(id) === fate) {
      processed++
      failed++
    }
  }
  expect(await store.metrics.totals()).toMatchObject({ processed, failed })
}

/** Checks that counts agree with events, and events with jobs. */
async function expectRows(store: Store, said: Summary, found: Map<string, Location>): Promise<void> {
  if (!(await store.tasks.find(TASK.id))) return expect(said.hasTask).not.toBe(true)
  const { counts, total, backlog: held } = await expectExact({ store }, TASK)
  expect([said.rows, said.rows + said.perhapsRows]).toContain(total)
  const events = await store.tasks.events(TASK.id, { limit: 10_000 })
  const where = (jid: string) => found.get(jid)
  const placed = events.filter(({ jid }) => ['queue', 'owner'].includes(where(jid) ?? '')).length
  const retrying = events.filter(({ jid }) => where(jid) === 'retry').length
  expect(placed).toBeLessThanOrEqual(TASK.window)
  if (held > 0) expect(placed).toBe(TASK.window)
  expect(held).toBe(counts.enqueued + counts.working - placed - retrying)
  for (const { jid, status } of events) {
    if (status === 'finished') expect(where(jid)).toBe(undefined)
    if (status === 'working') expect(where(jid)).toBe('owner')
    if (status === 'error') expect(where(jid)).toBe('dead')
    if (where(jid) === 'dead') expect(status).toBe('error')
  }
}

/** Runs all jobs that are left: every job ends once, and the task is done. */
async function workOff(t: Bench, store: Store, found: Map<string, Location>): Promise<void> {
  const before = await store.metrics.totals()
  for (const set of ['retry', 'dead'] as const) {
    const entries = await store.jobSets.page(set, { limit: 10_000 })
    const swaps = entries.map(({ text, score }) => ({
      text,
      score,
      to: { to: 'queue', queue: queueOf(text), text, end: 'back' } as const,
      effects: change(text, 'enqueued', 'enter', 0),
    }))
    expect(await store.jobSets.swap(set, swaps, CLOCK)).toEqual(swaps.map(() => 'ok'))
  }
  const owner = t.ownerName()
  await store.workers.join(owner, { queues: ['q', TASK.queue], seconds: 60, host: 'heir' })
  const ended = new Map<string, number>()
  let settlements: Parameters<Store['workers']['settleAndFetch']>[1]['settlements'] = []
  for (;;) {
    const take = { queues: ['q', TASK.queue], n: 50 }
    const answer = await store.workers.settleAndFetch(owner, { now: CLOCK, started: [], settlements, fetch: take })
    expect(answer.settled).toEqual(settlements.map(() => 'ok'))
    if (answer.fetched.length === 0) break
    settlements = answer.fetched.map(({ queue, ticket, text }) => {
      ended.set(idOf(text), (ended.get(idOf(text)) ?? 0) + 1)
      return {
        queue,
        ticket,
        move: null,
        processed: 1,
        failed: 0,
        effects: change(text, 'finished', 'leave', 1),
      }
    })
  }
  for (const [id, place] of found) expect(ended.get(id)).toBe(place === 'finished' ? undefined : 1)
  expect(Math.max(0, ...ended.values())).toBeLessThanOrEqual(1)
  const after = await store.metrics.totals()
  expect(after).toMatchObject({ enqueued: 0, fetched: 0, backlog: 0, retries: 0, dead: 0, failed: before.failed })
  expect(after.processed - before.processed).toBe(ended.size)

  const task = await store.tasks.find(TASK.id)
  if (!task) return
  if (task.state === 'adding') await store.tasks.endAdding(TASK.id, TASK.producer, CLOCK)
  const last = sure(await store.tasks.find(TASK.id))
  expect(last).toMatchObject({ state: 'done', backlog: 0 })
  expect(last.counts.finished).toBe(last.total)
}
