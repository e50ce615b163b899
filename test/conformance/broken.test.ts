import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Effect, FetchedJob, Settlement, Store } from '#dist/store/contract.js'
import { withReplaced } from '../replaced-store.ts'
import { type Case, NOW, toQueue, turnOf, withBench } from './bench.ts'
import { crons } from './crons.ts'
import { due } from './due.ts'
import type { Fault } from './fault.ts'
import { iterations } from './iterations.ts'
import { marks } from './marks.ts'
import { metrics } from './metrics.ts'
import { orderedFaults } from './ordered-faults.ts'
import { recovery } from './recovery.ts'
import { removal } from './removal.ts'
import { search } from './search.ts'
import { file } from './sqlite.ts'
import { taskFaults } from './task-faults.ts'
import { taskModel } from './task-model.ts'
import { taskRows } from './task-rows.ts'
import { taskTransitions } from './task-transitions.ts'
import { turn } from './turn.ts'
import { turnModel } from './turn-model.ts'

// A property that fails is all that is asked for here: nobody needs the smallest example.
fc.configureGlobal({ endOnFailure: true })

/** Does the suite see what it is for? A store that is broken on purpose must fail the case that names its fault. */
const faults: Fault[] = [
  ...taskFaults,
  ...orderedFaults,
  {
    name: 'take hands the same job to two owners',
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
    cases: [...turn, ...turnModel],
    seen: [
      'a taken job belongs to its owner and to nobody else',
      'owners that take at the same time get every job once',
      'any interleaving of two owners ends as the model does (property)',
    ],
  },
  {
    name: 'take removes the job: it is lost if nobody settles it',
    wrap: (store) => ({
      workers: {
        async settleAndFetch(owner, asked) {
          const answer = await store.workers.settleAndFetch(owner, { ...asked, settlements: [] })
          const forgotten = answer.fetched.map(({ queue, ticket }) => settled(queue, ticket))
          await store.workers.settleAndFetch(owner, turnOf({ settlements: forgotten }))
          return { ...answer, settled: asked.settlements.map(() => 'ok' as const) }
        },
      },
    }),
    cases: recovery,
    seen: [
      'the jobs of a dead owner are found and run again, once',
      'leave is refused while the owner holds a job, and changes nothing then',
      'stranded jobs come newest first per queue, so that restoring them one by one keeps their order',
    ],
  },
  {
    name: 'a repeated settlement is counted again',
    wrap(store) {
      let number = 0
      /** Counts by settling a job of nobody. */
      const count = async (settlement: Settlement) => {
        const owner = `ghost:${process.pid}:${++number}`
        await store.workers.join(owner, { queues: ['ghost'], seconds: 60, host: 'ghost' })
        await store.jobs.push([toQueue('ghost', '{}')], NOW)
        const { fetched: taken } = await store.workers.settleAndFetch(
          owner,
          turnOf({ fetch: { queues: ['ghost'], n: 1 } }),
        )
        const settlements = taken.map(({ queue, ticket }) => ({
          ...settled(queue, ticket),
          processed: settlement.processed,
          failed: settlement.failed,
        }))
        await store.workers.settleAndFetch(owner, turnOf({ settlements }))
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
    cases: [...turn, ...turnModel],
    seen: [
      'settling a ticket again answers fenced and counts nothing',
      'a ticket settled twice in one turn is settled once',
      'any interleaving of two owners ends as the model does (property)',
    ],
  },
  {
    name: 'a lost lease is ignored: a claimed owner goes on',
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
    cases: [...recovery, ...turnModel],
    seen: [
      'turns of a claimed owner are fenced: nothing is settled, counted or taken',
      'a claim by another connection fences this one',
      'any interleaving of two owners ends as the model does (property)',
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
    cases: [...due, ...turnModel, ...taskModel],
    seen: [
      'swap changes nothing when the score or the text is another now',
      'an entry is swapped once: repeating it answers gone, also within one call',
      'of two racing swappers on two connections exactly one moves each entry',
      'counts equal the events and the window holds, whatever happens in whatever order (property)',
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
            blind.flatMap(({ to }) => to ?? []),
            now,
          )
          return items.map(() => 'ok' as const)
        },
      },
    }),
    cases: removal,
    seen: [
      'pull changes nothing when the text is not in the queue, or not any more',
      'of twins each item takes one',
      'of two who pull the same jobs at the same time each job goes to one',
    ],
  },
  {
    name: 'a search goes by the number of jobs it has seen',
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
    seen: ['what a search has found can be removed before its next page, and it skips and repeats nothing'],
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
      'a tick is decided once: repeated, or from elsewhere, it changes nothing',
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
      'a tick is decided once: repeated, or from elsewhere, it changes nothing',
      'of many callers at once each tick is decided by one',
      'a lock is given with the job, and nothing happens while another one has it',
    ],
  },
  {
    name: 'addRows ignores the cursor',
    wrap: (store) => ({
      tasks: {
        async addRows(task, adder, _from, rows, now) {
          const found = await store.tasks.find(task)
          return store.tasks.addRows(task, adder, found?.total ?? 0, rows, now)
        },
      },
    }),
    cases: [...taskRows, ...taskModel],
    seen: [
      'a chunk that is repeated is answered ok and adds nothing',
      'a chunk beyond the cursor is refused, and the cursor told',
      'counts equal the events and the window holds, whatever happens in whatever order (property)',
    ],
  },
  {
    name: 'a batch of metrics is recorded again',
    wrap(store) {
      let number = 0
      return { metrics: { record: (batch) => store.metrics.record({ ...batch, number: ++number }) } }
    },
    cases: metrics,
    seen: ['a batch that is told twice, or after a later one, counts once'],
  },
  {
    name: 'an iteration is saved whoever has overtaken it',
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
    seen: ['an execution that was overtaken by a later one changes nothing'],
  },
  {
    name: 'an event changes whatever the attempt',
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
      'an attempt that the event has moved on from is superseded at its start',
      'counts equal the events and the window holds, whatever happens in whatever order (property)',
    ],
  },
  {
    name: 'turn tells of no marks',
    wrap: (store) => ({
      workers: {
        settleAndFetch: async (owner, asked) => ({
          ...(await store.workers.settleAndFetch(owner, asked)),
          cancellations: 0,
        }),
      },
    }),
    cases: marks,
    seen: ['the turn that takes a job tells of every mark that was set before'],
  },
  {
    name: 'a mark stays when its job is dropped',
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
    cases: marks,
    seen: [
      'a mark goes in the step in which its job is dropped, and then it is known why',
      'a mark goes with a job that is dropped from a set, from a queue, or from a dead owner',
    ],
  },
  {
    name: 'a pause is forgotten',
    wrap: () => ({ jobs: { pauseQueue: async () => {} } }),
    cases: marks,
    seen: [
      'a turn takes nothing from a paused queue, all from the others, and what it settles is settled',
      'what is put back, promoted or recovered into a paused queue stays there',
    ],
  },
]

describe.each(faults)('a store where $name', ({ wrap, cases, seen }) => {
  test('fails the cases that are about it', { timeout: 60_000 }, async () => {
    for (const name of seen) {
      const verdict = await verdictOf(named(cases, name), (store) => withReplaced(store, wrap(store)))
      expect(verdict, `“${name}” does not see the fault`).toBe('failed')
    }
  })
})

// That all cases pass is seen elsewhere; here, that being wrapped is no fault: one case of each kind.
const healthy = new Map(faults.map(({ cases, seen: [name = ''] }) => [cases, name]))

test.each([...healthy].map(([cases, name]) => [name, named(cases, name)] as const))(
  'a healthy store passes: %s',
  { timeout: 60_000 },
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
