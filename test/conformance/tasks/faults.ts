import { NOW } from '../bench.ts'
import type { Fault } from '../fault.ts'
import { taskCancel } from './cancel.ts'
import { taskKeeping } from './keeping.ts'
import { taskLife } from './life.ts'
import { taskProducers } from './producers.ts'
import { taskRuns } from './runs.ts'
import { taskSteering } from './steering.ts'
import { taskSweeping } from './sweeping.ts'

const LIFE = 'a task behaves like the model after any operations in any order, and ends (property)'

/** Faults in the whole life of a task. */
export const taskFaults: Fault[] = [
  {
    name: 'a pause is forgotten',
    wrap: (store) => ({
      tasks: { change: (id, { paused: _, ...change }, now) => store.tasks.change(id, change, now) },
    }),
    cases: [...taskSteering, ...taskLife],
    seen: ['a paused task enqueues no row; queued rows run; a resume continues it', LIFE],
  },
  {
    name: 'no callback is pushed when a task is done or has a rejected row',
    wrap: (store) => ({ tasks: { create: (task) => store.tasks.create({ ...task, onDone: null, onFailure: null }) } }),
    cases: [...taskSteering, ...taskLife],
    seen: [
      'onDone is pushed once in a run, in the step of the last row',
      'onFailure is pushed once in a run, in the step of the first rejected row',
      LIFE,
    ],
  },
  {
    name: 'maxFailures has no effect',
    wrap: (store) => ({ tasks: { create: (task) => store.tasks.create({ ...task, maxFailures: null }) } }),
    cases: taskSteering,
    seen: [
      'one row more than maxFailures pauses the task in that step, with the reason',
      'a share of maxFailures applies from 100 ended rows on',
      'with fewer rows a share of maxFailures applies to all rows when adding ends',
    ],
  },
  {
    name: 'a task that is cancelled is only paused',
    wrap: (store) => ({
      tasks: { cancel: (id, reason, now) => store.tasks.change(id, { paused: true, reason }, now) },
    }),
    cases: taskCancel,
    seen: [
      'a row in the queue is superseded at its start, is cancelled, and its settlement changes nothing',
      'a task without open rows is cancelled at once',
    ],
  },
  {
    name: 'a replaced producer continues beside the new one',
    wrap: (store) => ({ tasks: { openAdding: (task, producer, now) => store.tasks.openAdding(task, producer, now) } }),
    cases: taskProducers,
    seen: [
      'a producer that replaces an interrupted one resumes at its cursor, and the task is adding again',
      'a live producer can be replaced too, by only one of two that try',
    ],
  },
  {
    name: 'an interrupted producer counts as ended',
    wrap: (store) => ({ tasks: { endAdding: (task, producer, now) => store.tasks.endAdding(task, producer, now) } }),
    cases: taskProducers,
    seen: [
      'an interrupted task stays interrupted when all its rows have ended, until its producer is replaced and ends',
    ],
  },
  {
    name: 'a run begins without the rows that it is given',
    wrap: (store) => ({
      tasks: { startRun: (id, run, producer, now) => store.tasks.startRun(id, run, producer, now) },
    }),
    cases: taskRuns,
    seen: [
      'a run begins with some of the rows that it is given, in one step, or not at all',
      'a dead entry goes in the step that begins a run with its row',
    ],
  },
  {
    name: 'a retried row leaves its dead entry',
    wrap: (store) => ({
      tasks: {
        retryRows(id, run, rows, now) {
          const bare = rows.map(({ dead: _, ...row }) => row)
          return store.tasks.retryRows(id, run, bare, now)
        },
      },
    }),
    cases: taskRuns,
    seen: ['the dead entry of a row is deleted in the step that retries it, and only then'],
  },
  {
    name: 'a retried row ignores its new arguments',
    wrap: (store) => ({
      tasks: {
        retryRows(id, run, rows, now) {
          const bare = rows.map(({ args: _, source: __, ...row }) => row)
          return store.tasks.retryRows(id, run, bare, now)
        },
      },
    }),
    cases: taskRuns,
    seen: ['retried rows get new arguments; rows whose arguments are gone are reported as dropped'],
  },
  {
    name: 'a lost row keeps its slot in the window',
    wrap: (store) => ({
      tasks: {
        leaveWindow: async () => {},
        changeEvents(effects, now) {
          const kept = effects.map((effect) => ({ ...effect, window: 'keep' as const }))
          return store.tasks.changeEvents(kept, now)
        },
      },
    }),
    cases: taskSweeping,
    seen: [
      'a lost row is rejected and frees its slot; a late end replaces that',
      'a row whose job is missing frees its slot once, and its event stays unchanged',
    ],
  },
  {
    name: 'a task is deleted by its last step alone',
    wrap: (store) => ({
      tasks: {
        async delete(id, most) {
          const task = await store.tasks.find(id)
          if (task && task.total > most) return false
          return store.tasks.delete(id, most)
        },
      },
    }),
    cases: taskSweeping,
    seen: ['a deleted task is hidden from the first call on, and all its data is gone after some more'],
  },
  {
    name: 'a tracked job is pushed again when its push is repeated',
    wrap: (store) => ({
      tasks: {
        async pushTracked(items, now) {
          await store.tasks.pushTracked(items, now)
          const found = await Promise.all(items.map(({ task }) => store.tasks.find(task.id)))
          const again = items.filter((_, i) => found[i]?.state === 'done').map(({ item }) => item)
          await store.jobs.push(again, NOW)
        },
      },
    }),
    cases: taskKeeping,
    seen: ['tracked jobs are pushed many at once, and a repeat pushes none again'],
  },
  {
    name: 'the last value is remembered',
    wrap: (store) => ({
      results: {
        async remember(key, value, seconds) {
          return store.results.remember(`${key} ${value}`, value, seconds)
        },
      },
    }),
    cases: taskKeeping,
    seen: ['the first value for a key stays until its time is over'],
  },
]
