import type { EventEffect, FetchedJob, Settlement, Store, TaskRecord } from '#dist/store/contract.js'
import { done, NOW, requestOf, sure } from '../bench.ts'
import { allEvents, change, jidOf, moveToDead, PRODUCER, payloadOf, postpone, spec, taskId } from '../tasks/tracked.ts'

const OWNER = 'h:1:mixed'
export const UNTIL = NOW + 3_600_000
/** The rows of the task that have not ended, and are not parked. */
export const OPEN_ROWS = [0, 1, 3, 4, 7, 8, 9, 10, 11]
const PARTS = [Uint8Array.of(1, 2, 0, 255), Uint8Array.of(9)]

/**
 * A task with rows of every kind: 0 in the queue, 1 waits for a retry, 2 finished, 3 in the backlog for the second run, 4 came
 * back to the backlog, 5 parked, 6 rejected when it was added, 7 to 11 never queued. 3 was dead before; another row of the first
 * run that is dead stays so. It has labels, callbacks, files, messages, revoked links, and a producer that
 * broke off.
 */
export async function mixedTask(store: Store, number: number): Promise<string> {
  const { tasks, workers } = store
  const queue = `q${number}`
  const template = `{"class":"RowJob","queue":"${queue}","hk_task":"${taskId(number)}"}`
  const callback = (name: string) => ({ queue: 'calls', template: `{"class":"${name}","queue":"calls"}` })
  const { id } = spec(number)
  await tasks.create(
    spec(number, {
      queue,
      template,
      window: 6,
      labels: { team: 'a', [`n${number}`]: 'č' },
      maxFailures: { rows: 50 },
      onDone: callback('Done'),
      onFailure: callback('Failed'),
      meta: '{"a":1}',
      keep: 5000,
    }),
  )
  const messages = [{ at: NOW, code: 'bad', params: { column: 'č' } }]
  const added = Array.from({ length: 12 }, (_, n) => ({
    args: `["row ${n} ž"]`,
    number: n + 2,
    source: `{"n":"${n} ø"}`,
    ...(n === 8
      ? { job: 'OtherJob', args: `{"class":"OtherJob","queue":"${queue}","args":[8],"hk_task":"${id}"}` }
      : {}),
    ...(n === 6 ? { rejected: { status: 'failed' as const, code: 'bad', messages } } : {}),
  }))
  await tasks.addRows(id, PRODUCER, 0, added, NOW, 'the last')
  const owner = `${OWNER}${number}`
  await workers.join(owner, { queues: [queue], seconds: 3600, host: 'here' })
  const step = (settlements: Settlement[], n = 0) =>
    workers.settleAndFetch(owner, requestOf({ settlements, fetch: { queues: [queue], n } }))
  const { fetched } = await step([], 6)
  const of = (index: number) => sure(fetched.find(({ text }) => payloadOf({ text }).jid === jidOf(id, index)))
  // The queue gets no more rows of the first run.
  await tasks.change(id, { window: 1 }, NOW)
  const two = change(of(2), { result: '{"ok":"ř"}', messages, at: NOW + 2000, startedAt: NOW + 1000 })
  await step([
    postpone(of(1), NOW / 1000 + 60, { messages }),
    done(of(2), { effects: [two] }),
    moveToDead(of(3), NOW / 1000, { code: 'TypeError', messages }),
  ])
  const { jid, hk_run: run } = payloadOf(of(5))
  await tasks.defer({ jid, run, attempt: 1, at: NOW, until: UNTIL }, NOW)
  await step([done(of(5), { effects: [change(of(5), { status: 'working', window: 'park' })] })])
  await back(store, owner, of(4), 2)
  await tasks.endAdding(id, PRODUCER, NOW, true)
  await tasks.openAdding(id, 'producer-2', NOW, PRODUCER)
  await tasks.endAdding(id, 'producer-2', NOW, true)
  await tasks.startRun(id, 1, 'producer-3', NOW)
  await tasks.retryRows(id, 2, [{ index: 3, args: '["better"]' }], NOW)
  await tasks.endAdding(id, 'producer-3', NOW)
  // The job of row 0 goes back to its queue.
  await workers.settleAndFetch(
    owner,
    requestOf({
      settlements: [
        done(of(0), {
          move: { to: 'queue', queue, text: of(0).text, end: 'front' },
          processed: 0,
          effects: [change(of(0), { status: 'enqueued', attempt: 0, window: 'keep' })],
        }),
      ],
    }),
  )
  for (let n = 0; n < 3; n++) await tasks.revokeLinks(id)
  for (const [i, bytes] of PARTS.entries()) await tasks.putPart(id, i * 5, bytes, 1000)
  return id
}

/** A row that snoozed comes back while the window is full, so its job is in the backlog. */
async function back(store: Store, owner: string, taken: FetchedJob, score: number): Promise<void> {
  const effect = change(taken, { status: 'enqueued', window: 'leave' })
  const move = { to: 'schedule', text: taken.text, score } as const
  await store.workers.settleAndFetch(owner, requestOf({ settlements: [done(taken, { move, effects: [effect] })] }))
  const enter: EventEffect = { ...effect, window: 'enter' }
  const to = { to: 'queue', queue: taken.queue, text: taken.text, end: 'front' } as const
  await store.jobSets.swap('schedule', [{ text: taken.text, score, to, effects: [enter] }], NOW)
}

/** Returns all that a move of a task must keep. Where its open rows are may change. */
export async function snapshot(store: Store, id: string) {
  const { inWindow: _, backlog: __, progressAt: ___, ...task } = sure(await store.tasks.find(id)) as TaskRecord
  const events = await allEvents({ store }, { id })
  const label = { name: 'team', value: 'a' }
  const listed = await store.tasks.page({ limit: 99, label })
  return {
    task,
    events: events.map(({ location: _, ...event }) => event),
    reasons: await store.tasks.reasons(id),
    parts: await Promise.all([0, 5].map((index) => store.tasks.part(id, index))),
    isListed:
      listed.some((one) => one.id === id) && (await store.tasks.page({ limit: 99 })).some((one) => one.id === id),
    overdue: (await store.tasks.overdue(UNTIL, 99)).filter((jid) => jid.startsWith(id)),
  }
}

/** Runs all jobs of a task to their end, also those that are due later, and returns the jids in order. */
export async function runAll(store: Store, number: number): Promise<string[]> {
  const queue = `q${number}`
  const owner = `h:1:run${number}`
  await store.workers.join(owner, { queues: [queue], seconds: 3600, host: 'here' })
  const ran: string[] = []
  for (;;) {
    for (const { text, score } of await store.jobSets.page('retry', { limit: 99 })) {
      const { jid, hk_run: run } = payloadOf({ text })
      if (!jid.startsWith(taskId(number))) continue
      const effect: EventEffect = { kind: 'event', jid, run, attempt: 1, status: 'enqueued', at: NOW, window: 'enter' }
      const to = { to: 'queue', queue, text, end: 'back' } as const
      await store.jobSets.swap('retry', [{ text, score, to, effects: [effect] }], NOW)
    }
    const { fetched } = await store.workers.settleAndFetch(owner, requestOf({ fetch: { queues: [queue], n: 9 } }))
    if (fetched.length === 0) return ran.sort()
    const settlements = fetched.map((one) => done(one, { effects: [change(one, { attempt: 2 })] }))
    await store.workers.settleAndFetch(owner, requestOf({ settlements }))
    ran.push(...fetched.map(({ text }) => payloadOf({ text }).jid))
  }
}
