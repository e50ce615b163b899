import { expect } from 'vitest'
import {
  EVENT_STATUSES,
  type EventEffect,
  type EventRecord,
  type EventStatus,
  type FetchedJob,
  type Message,
  type NewRow,
  type Settlement,
  type Store,
  type TaskRecord,
  type TaskSpec,
} from '#dist/store/contract.js'
import { type Bench, done, NOW, toQueue } from '../bench.ts'

/** Makings of tracked tasks, for the cases about them. Times are whole seconds: a store may keep them coarser than ms. */

export const PRODUCER = 'producer-1'

export function spec(number: number, more: Partial<TaskSpec> = {}): TaskSpec {
  return {
    id: taskId(number),
    name: `task ${number}`,
    job: 'RowJob',
    queue: 'q',
    template: '{"class":"RowJob","queue":"q","retry":true}',
    window: 3,
    keepArgs: 'all',
    meta: '{}',
    createdAt: NOW,
    producer: PRODUCER,
    ...more,
  }
}

export function taskId(number: number): string {
  return number.toString(16).padStart(16, '0')
}

export function jidOf(task: string, index: number): string {
  return task + index.toString(16).padStart(8, '0')
}

/** Rows with the arguments `[from]`, `[from + 1]`, … */
export function rows(from: number, count: number): NewRow[] {
  return Array.from({ length: count }, (_, i) => ({ args: `[${from + i}]` }))
}

/** A tracked job by itself: its task, and the job as it is pushed. */
export function single(number: number, args = '[1.0, "č"]') {
  const task = spec(number, {
    single: true,
    window: 1,
    name: 'HardJob',
    job: 'HardJob',
    template: '{"class":"HardJob"}',
  })
  const text = `{"class":"HardJob","args":${args},"jid":"${jidOf(task.id, 0)}","queue":"q","hk_task":"${task.id}","hk_run":1}`
  return { task, text, item: toQueue('q', text) }
}

/** A task with rows; adding has ended unless `open`. */
export async function taskWith(
  t: Bench,
  number: number,
  count: number,
  more: Partial<TaskSpec> & { open?: boolean } = {},
): Promise<TaskSpec> {
  const { open = false, ...rest } = more
  const task = spec(number, rest)
  expect(await t.store.tasks.create(task)).toBe(true)
  expect(await t.store.tasks.addRows(task.id, PRODUCER, 0, rows(0, count), NOW)).toEqual({ ok: true, total: count })
  if (!open) expect(await t.store.tasks.endAdding(task.id, PRODUCER, NOW)).toEqual({ ok: true, total: count })
  return task
}

export interface Payload {
  jid: string
  args: unknown[]
  hk_run: number
  enqueued_at: number
  [member: string]: unknown
}

export function payloadOf(taken: { text: string }): Payload {
  return JSON.parse(taken.text) as Payload
}

/** A change of the event whose job was taken; by default its first attempt ends well. */
export function change(taken: { text: string }, more: Partial<EventEffect> = {}): EventEffect {
  const { jid, hk_run } = payloadOf(taken)
  return { kind: 'event', jid, run: hk_run, attempt: 1, status: 'finished', at: NOW, window: 'leave', ...more }
}

/** The handler returned. */
export function finish(taken: FetchedJob, more: Partial<EventEffect> = {}): Settlement {
  return done(taken, { effects: [change(taken, more)] })
}

/** The handler failed and is retried later. */
export function postpone(taken: FetchedJob, score: number, more: Partial<EventEffect> = {}): Settlement {
  return done(taken, {
    failed: 1,
    move: { to: 'retry', text: taken.text, score },
    effects: [change(taken, { status: 'enqueued', ...more })],
  })
}

/** The last attempt failed: the job is dead. */
export function moveToDead(taken: FetchedJob, score: number, more: Partial<EventEffect> = {}): Settlement {
  return done(taken, {
    failed: 1,
    move: { to: 'dead', text: taken.text, score },
    effects: [change(taken, { status: 'error', ...more })],
  })
}

/** The first attempt begins. */
export function begin(taken: FetchedJob, more: Partial<EventEffect> = {}) {
  const effect = change(taken, { status: 'working', window: 'keep', ...more })
  return { queue: taken.queue, ticket: taken.ticket, effects: [effect] }
}

/** Delivers effects by themselves, on the back of a job nobody takes. */
export async function deliver(t: Bench, ...effects: EventEffect[]): Promise<void> {
  await t.store.jobs.push([{ to: 'queue', queue: 'carrier', text: '{}', end: 'back', effects }], NOW)
}

export async function record(t: { store: Store }, task: { id: string }): Promise<TaskRecord> {
  const found = await t.store.tasks.find(task.id)
  if (!found) throw new Error(`task ${task.id} is gone`)
  return found
}

export async function eventOf(t: { store: Store }, task: { id: string }, index: number): Promise<EventRecord> {
  const found = await t.store.tasks.event(jidOf(task.id, index))
  if (!found) throw new Error(`event ${index} of task ${task.id} is gone`)
  return found
}

export function countsOf(statuses: readonly EventStatus[]): Record<EventStatus, number> {
  const counts = Object.fromEntries(EVENT_STATUSES.map((status) => [status, 0])) as Record<EventStatus, number>
  for (const status of statuses) counts[status]++
  return counts
}

export function counts(some: Partial<Record<EventStatus, number>>): Record<EventStatus, number> {
  return { ...countsOf([]), ...some }
}

/** All events of a task, read in pages. */
export async function allEvents(t: { store: Store }, task: { id: string }): Promise<EventRecord[]> {
  const events: EventRecord[] = []
  for (let last: EventRecord | undefined; ; ) {
    const page = await t.store.tasks.events(task.id, { limit: 1000, ...(last ? { after: last.index } : {}) })
    events.push(...page)
    last = page.at(-1)
    if (page.length < 1000) return events
  }
}

/** Counts and reasons always equal the events, what is held and placed their places, and the total their number. */
export async function expectExact(t: { store: Store }, task: { id: string }): Promise<TaskRecord> {
  const found = await record(t, task)
  const events = await allEvents(t, task)
  expect(found.counts).toEqual(countsOf(events.map(({ status }) => status)))
  expect(found.total).toBe(events.length)
  expect(events.map(({ index }) => index)).toEqual(events.map((_, i) => i))
  const at = (place: EventRecord['location']) => events.filter((event) => event.location === place).length
  expect({ backlog: found.backlog, placed: found.inWindow }).toEqual({ backlog: at('backlog'), placed: at('window') })
  expect(await reasonsOf(t, task)).toEqual(countReasons(events))
  return found
}

/** How many rows there are of each reason, as `status code`. */
async function reasonsOf(t: { store: Store }, task: { id: string }): Promise<Record<string, number>> {
  const reasons = await t.store.tasks.reasons(task.id)
  return Object.fromEntries(reasons.map(({ status, code, count }) => [`${status} ${code}`, count]))
}

function countReasons(events: readonly EventRecord[]): Record<string, number> {
  const counted: Record<string, number> = {}
  for (const { status, code } of events) {
    if (status !== 'failed' && status !== 'error' && status !== 'cancelled') continue
    counted[`${status} ${code}`] = (counted[`${status} ${code}`] ?? 0) + 1
  }
  return counted
}

/** Cancels the rows of a task that is being cancelled, about `limit` in a call. Returns those that may be running. */
export async function cancelAll(t: { store: Store }, task: { id: string }, limit: number): Promise<Set<string>> {
  const maybeRunning = new Set<string>()
  for (let isDone = false; !isDone; ) {
    const answer = await t.store.tasks.cancelRows(task.id, limit, NOW)
    for (const jid of answer.maybeRunning) maybeRunning.add(jid)
    isDone = answer.done
  }
  return maybeRunning
}

/** Asks for the same once more, as after a lost reply: the answer is the same, and so is the task. */
export async function twice<T>(t: { store: Store }, task: { id: string }, ask: () => Promise<T>): Promise<T> {
  const answer = await ask()
  const after = await expectExact(t, task)
  const { backlog, enqueued } = await t.store.metrics.totals()
  expect(await ask()).toEqual(answer)
  expect(await expectExact(t, task)).toEqual(after)
  expect(await t.store.metrics.totals()).toMatchObject({ backlog, enqueued })
  return answer
}

/** Takes jobs of a queue (all by default) and ends them, with the same status each; answers them. */
export async function work(
  t: Bench,
  owner: string,
  how: Partial<EventEffect> & { queue?: string; n?: number } = {},
): Promise<FetchedJob[]> {
  const { queue = 'q', n = 1000, ...effect } = how
  const taken: FetchedJob[] = await t.fetch(owner, queue, n)
  const settlements = taken.map((one) => finish(one, effect))
  expect((await t.settleAndFetch(owner, { settlements })).settled).toEqual(settlements.map(() => 'ok'))
  return taken
}

/** The arguments of the jobs that wait in a queue. */
export async function argsIn(t: Bench, queue = 'q'): Promise<unknown[]> {
  return (await t.waiting(queue)).map((text) => payloadOf({ text }).args)
}

/** A reason as a person gives it. */
export const REASON: Message = { at: NOW, code: 'told', params: { by: 'žák', n: 1.5 } }

/** Reads all idle tasks in pages of `limit`. */
export function idleTasks({ store }: Pick<Bench, 'store'>, before: number, limit = 10): Promise<TaskRecord[]> {
  return allOf((after) => store.tasks.idle(before, { after, limit }))
}

/** Reads all pages of a list. */
export async function allOf<Item>(
  read: (after: string | undefined) => Promise<{ items: Item[]; next: string | null }>,
): Promise<Item[]> {
  const all: Item[] = []
  let after: string | undefined
  do {
    const { items, next } = await read(after)
    all.push(...items)
    after = next ?? undefined
  } while (after !== undefined)
  return all
}
