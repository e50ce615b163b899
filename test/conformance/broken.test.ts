import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Effect, FetchedJob, PushItem, Settlement, Store } from '#dist/store/contract.js'
import { withReplaced } from '../replaced-store.ts'
import { type Case, NOW, requestOf, toQueue, withBench } from './bench.ts'
import { cancellations } from './cancellations/cancellations.ts'
import { crons } from './crons/crons.ts'
import type { Fault } from './fault.ts'
import { due } from './job-sets/due.ts'
import { iterations } from './jobs/iterations.ts'
import { metrics } from './metrics/metrics.ts'
import { orderedFaults } from './ordered/faults.ts'
import { removal } from './search/removal.ts'
import { search } from './search/search.ts'
import { file } from './sqlite.ts'
import { taskFaults } from './tasks/faults.ts'
import { taskModel } from './tasks/model.ts'
import { taskRows } from './tasks/rows.ts'
import { taskTransitions } from './tasks/transitions.ts'
import { workerModel } from './workers/model.ts'
import { rescue } from './workers/rescue.ts'
import { settleAndFetch } from './workers/settle-and-fetch.ts'

// The tests need only a failing property, not its smallest example.
fc.configureGlobal({ endOnFailure: true })

/** Checks the suite itself: a store that is broken on purpose must fail the cases about its fault. */
const faults: Fault[] = [
  ...taskFaults,
  ...orderedFaults,
  {
    name: 'a fetch gives the same job to two owners',
    wrap(store) {
      let last: { owner: string; taken: FetchedJob[] } = { owner: '', taken: [] }
      return {
        workers: {
          async settleAndFetch(owner, asked) {
            const answer = await store.workers.settleAndFetch(owner, asked)
            const room = asked.fetch.n - answer.fetched.length
            const again = owner === last.owner || answer.fenced ? [] : last.taken.slice(0, room)
            if (answer.fetched.length > 0) last = { owner, taken: answer.fetched }
            return { ...answer, fetched: [...answer.fetched, ...again] }
          },
        },
      }
    },
    cases: [...settleAndFetch, ...workerModel],
    seen: [
      'a fetched job belongs to its owner alone',
      'owners that fetch at the same time get every job once',
      'any interleaving of two owners ends like the model (property)',
    ],
  },
  {
    name: 'a fetch removes the job, which is lost if nobody settles it',
    wrap: (store) => ({
      workers: {
        async settleAndFetch(owner, asked) {
          const answer = await store.workers.settleAndFetch(owner, { ...asked, settlements: [] })
          const forgotten = answer.fetched.map(({ queue, ticket }) => settled(queue, ticket))
          await store.workers.settleAndFetch(owner, requestOf({ settlements: forgotten }))
          return { ...answer, settled: asked.settlements.map(() => 'ok' as const) }
        },
      },
    }),
    cases: rescue,
    seen: [
      'the jobs of a dead owner are found and run again, once',
      'release is refused while the owner has a job, and changes nothing then',
      'orphaned jobs come newest first per queue, so that rescuing them one by one keeps their order',
    ],
  },
  {
    name: 'a repeated settlement is counted again',
    wrap(store) {
      let number = 0
      /** Counts by settling an unknown job. */
      const count = async (settlement: Settlement) => {
        const owner = `ghost:${process.pid}:${++number}`
        await store.workers.join(owner, { queues: ['ghost'], seconds: 60, host: 'ghost' })
        await store.jobs.push([toQueue('ghost', '{}')], NOW)
        const { fetched: taken } = await store.workers.settleAndFetch(
          owner,
          requestOf({ fetch: { queues: ['ghost'], n: 1 } }),
        )
        const settlements = taken.map(({ queue, ticket }) => ({
          ...settled(queue, ticket),
          processed: settlement.processed,
          failed: settlement.failed,
        }))
        await store.workers.settleAndFetch(owner, requestOf({ settlements }))
        await store.workers.release(owner)
      }
      return {
        workers: {
          async settleAndFetch(owner, asked) {
            const answer = await store.workers.settleAndFetch(owner, asked)
            for (const [i, settlement] of asked.settlements.entries()) {
              if (answer.settled[i] === 'fenced') await count(settlement)
            }
            return answer
          },
        },
      }
    },
    cases: [...settleAndFetch, ...workerModel],
    seen: [
      'settling a ticket again answers fenced and counts nothing',
      'a ticket settled twice in one call is settled once',
      'any interleaving of two owners ends like the model (property)',
    ],
  },
  {
    name: 'a claimed owner continues',
    wrap: (store) => ({
      workers: {
        async settleAndFetch(owner, asked) {
          const answer = await store.workers.settleAndFetch(owner, asked)
          if (!answer.fenced) return answer
          const again = `${owner}'s ghost`
          await store.workers.join(again, { queues: asked.fetch.queues, seconds: 60, host: 'ghost' })
          const { fetched: taken } = await store.workers.settleAndFetch(again, { ...asked, settlements: [] })
          return { ...answer, fenced: false, settled: asked.settlements.map(() => 'ok' as const), fetched: taken }
        },
      },
    }),
    cases: [...rescue, ...workerModel],
    seen: [
      'calls of a claimed owner are fenced: nothing is settled, counted or fetched',
      'a claim by another connection fences this one',
      'any interleaving of two owners ends like the model (property)',
    ],
  },
  {
    name: 'swap does not compare',
    wrap: (store) => ({
      jobSets: {
        async swap(set, swaps, now) {
          const answers = await store.jobSets.swap(set, swaps, now)
          const blind = swaps.filter(({ to }, i) => answers[i] === 'gone' && to)
          await store.jobs.push(
            blind.flatMap(({ to }) => to ?? []),
            now,
          )
          return swaps.map(() => 'ok' as const)
        },
      },
    }),
    cases: [...due, ...workerModel, ...taskModel],
    seen: [
      'swap changes nothing when the score or the text has changed',
      'an entry is swapped once; a repeated swap answers gone, also within one call',
      'of two racing swappers on two connections exactly one moves each entry',
      'counts equal the events and the window holds after any operations in any order (property)',
    ],
  },
  {
    name: 'pull does not compare',
    wrap: (store) => ({
      search: {
        async pull(queue, items, now) {
          const answers = await store.search.pull(queue, items, now)
          const blind = items.filter(({ to }, i) => answers[i] === 'gone' && to)
          await store.jobs.push(
            blind.flatMap(({ to }): PushItem[] => (to && to.to !== 'same' ? [to] : [])),
            now,
          )
          return items.map(() => 'ok' as const)
        },
      },
    }),
    cases: removal,
    seen: [
      'pull changes nothing when the text is not in the queue, or not any more',
      'among jobs with the same text each item removes one',
      'two callers that pull the same jobs at once get each job once',
    ],
  },
  {
    name: 'a search counts the jobs it has seen',
    wrap: (store) => ({
      search: {
        async scanQueue(queue, needle, { after = '0', limit }) {
          const all = (await store.jobs.peek(queue, 0, 100_000)).reverse()
          const from = Number(after)
          const some = all.slice(from, from + limit)
          const items = some.filter((text) => text.includes(needle)).map((text) => ({ text, at: '' }))
          const next = from + limit < all.length ? String(from + limit) : null
          return { items, next, scanned: some.length }
        },
      },
    }),
    cases: search,
    seen: ['found jobs can be removed before the next page, and the search skips and repeats nothing'],
  },
  {
    name: 'a tick is not compared with the last one',
    wrap: (store) => ({
      crons: {
        async tick(name, tick, now) {
          const answer = await store.crons.tick(name, tick, now)
          const [record] = answer === 'gone' ? await store.crons.list([name]) : []
          return record ? store.crons.tick(name, { ...tick, from: record.tick }, now) : answer
        },
      },
    }),
    cases: crons,
    seen: [
      'a tick is decided once; a repeated or outdated decision changes nothing',
      'of many callers at once each tick is decided by one',
    ],
  },
  {
    name: 'a tick and its job come one after the other',
    wrap: (store) => ({
      crons: {
        async tick(name, tick, now) {
          if (tick.push) await store.jobs.push([tick.push.item], now)
          return store.crons.tick(name, { ...tick, push: null }, now)
        },
      },
    }),
    cases: crons,
    seen: [
      'a tick and its job come in one step',
      'a tick is decided once; a repeated or outdated decision changes nothing',
      'of many callers at once each tick is decided by one',
      'a lock is acquired with the push, and nothing changes while another job has it',
    ],
  },
  {
    name: 'addRows ignores the cursor',
    wrap: (store) => ({
      tasks: {
        async addRows(task, producer, _from, rows, now) {
          const found = await store.tasks.find(task)
          return store.tasks.addRows(task, producer, found?.total ?? 0, rows, now)
        },
      },
    }),
    cases: [...taskRows, ...taskModel],
    seen: [
      'a repeated chunk is answered ok and adds nothing',
      'a chunk beyond the cursor is refused with the cursor',
      'counts equal the events and the window holds after any operations in any order (property)',
    ],
  },
  {
    name: 'a batch of metrics is recorded again',
    wrap(store) {
      let number = 0
      return { metrics: { record: (batch) => store.metrics.record({ ...batch, number: ++number }) } }
    },
    cases: metrics,
    seen: ['a batch that is recorded twice, or after a later one, counts once'],
  },
  {
    name: 'an older execution saves its iteration',
    wrap(store) {
      let executions = 1000
      return {
        jobs: {
          saveIteration: (jid, state, now) =>
            store.jobs.saveIteration(jid, { ...state, executions: ++executions }, now),
        },
      }
    },
    cases: iterations,
    seen: ['an execution changes nothing once a later one has saved its state'],
  },
  {
    name: 'an event changes for any attempt',
    wrap(store) {
      let attempt = 1000
      const newest = (effects?: Effect[]) => effects?.map((effect) => ({ ...effect, attempt: ++attempt }))
      return {
        jobs: {
          push: (items, now) =>
            store.jobs.push(
              items.map((item) => ({ ...item, effects: newest(item.effects) })),
              now,
            ),
        },
        workers: {
          settleAndFetch: (owner, asked) =>
            store.workers.settleAndFetch(owner, {
              ...asked,
              started: asked.started.map((one) => ({ ...one, effects: newest(one.effects) ?? [] })),
              settlements: asked.settlements.map((one) => ({ ...one, effects: newest(one.effects) })),
            }),
        },
        jobSets: {
          swap: (set, swaps, now) =>
            store.jobSets.swap(
              set,
              swaps.map((one) => ({ ...one, effects: newest(one.effects) })),
              now,
            ),
        },
      }
    },
    cases: [...taskTransitions, ...taskModel],
    seen: [
      'a late effect of an older attempt changes nothing',
      'an attempt older than its event is superseded at its start',
      'counts equal the events and the window holds after any operations in any order (property)',
    ],
  },
  {
    name: 'settleAndFetch does not tell the version of the cancellations',
    wrap: (store) => ({
      workers: {
        settleAndFetch: async (owner, asked) => ({
          ...(await store.workers.settleAndFetch(owner, asked)),
          cancellations: 0,
        }),
      },
    }),
    cases: cancellations,
    seen: ['the call that fetches a job returns the version of every earlier cancellation'],
  },
  {
    name: 'a cancellation stays when its job is dropped',
    wrap(store) {
      const others = (effects?: Effect[]) => effects?.filter(({ kind }) => kind !== 'clear-cancellation') ?? []
      return {
        workers: {
          settleAndFetch: (owner, asked) =>
            store.workers.settleAndFetch(owner, {
              ...asked,
              settlements: asked.settlements.map((one) => ({ ...one, effects: others(one.effects) })),
            }),
        },
        jobSets: {
          swap: (set, swaps, now) =>
            store.jobSets.swap(
              set,
              swaps.map((one) => ({ ...one, effects: others(one.effects) })),
              now,
            ),
        },
      }
    },
    cases: cancellations,
    seen: [
      'a cancellation is cleared in the step that drops its job, and its state is dropped',
      'a cancellation is cleared with a job that is dropped from a set, from a queue, or from a dead owner',
    ],
  },
  {
    name: 'a pause is forgotten',
    wrap: () => ({ jobs: { pauseQueue: async () => {} } }),
    cases: cancellations,
    seen: [
      'a call fetches nothing from a paused queue, everything from the others, and settles as usual',
      'a job that is requeued, promoted or rescued into a paused queue stays there',
    ],
  },
]

describe.each(faults)('a store where $name', ({ wrap, cases, seen }) => {
  test('fails the cases that are about it', { timeout: 180_000 }, async () => {
    for (const name of seen) {
      const verdict = await verdictOf(named(cases, name), (store) => withReplaced(store, wrap(store)))
      expect(verdict, `“${name}” does not see the fault`).toBe('failed')
    }
  })
})

// One case of each kind must pass on a wrapped healthy store.
const healthy = new Map(faults.map(({ cases, seen: [name = ''] }) => [cases, name]))

test.each([...healthy].map(([cases, name]) => [name, named(cases, name)] as const))(
  'a healthy store passes: %s',
  { timeout: 180_000 },
  async (name, one) => {
    const verdict = await verdictOf(one, (store) => withReplaced(store, { workers: {} }))
    expect(verdict, `“${name}” fails on a healthy store`).toBe('passed')
  },
)

function named(cases: Case[], name: string): Case {
  const found = cases.find((one) => one.name === name)
  if (!found) throw new Error(`there is no case “${name}”`)
  return found
}

async function verdictOf(one: Case, wrap: (store: Store) => Store): Promise<'passed' | 'failed'> {
  let verdict: 'passed' | 'failed' = 'passed'
  await withBench(
    file,
    async (t) => {
      try {
        await one.run(t)
      } catch {
        verdict = 'failed'
      }
    },
    wrap,
  )
  return verdict
}

function settled(queue: string, ticket: string): Settlement {
  return { queue, ticket, move: null, processed: 0, failed: 0 }
}
