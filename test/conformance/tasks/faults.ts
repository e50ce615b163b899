import { NOW } from '../bench.ts'
import type { Fault } from '../fault.ts'
import { taskCancel } from './cancel.ts'
import { taskKeeping } from './keeping.ts'
import { taskLife } from './life.ts'
import { taskProducers } from './producers.ts'
import { taskRuns } from './runs.ts'
import { taskSteering } from './steering.ts'
import { taskSweeping } from './sweeping.ts'

const LIFE = 'whatever is done to a task in whatever order, it is what the model says, and ends (property)'

/** Faults in the whole life of a task. */
export const taskFaults: Fault[] = [
  {
    name: 'a pause is forgotten',
    wrap: (store) => ({
      tasks: { change: (id, { paused: _, ...change }, now) => store.tasks.change(id, change, now) },
    }),
    cases: [...taskSteering, ...taskLife],
    seen: ['of a paused task no row comes into the queue; what is there runs; then it goes on', LIFE],
  },
  {
    name: 'nothing is told when a task is done or has a rejected row',
    wrap: (store) => ({ tasks: { create: (task) => store.tasks.create({ ...task, onDone: null, onFailure: null }) } }),
    cases: [...taskSteering, ...taskLife],
    seen: [
      'done is told once in a run, by a job of its own, in the step of the last row',
      'the first rejected row of a run is told once, in its step',
      LIFE,
    ],
  },
  {
    name: 'rejected rows are tolerated without an end',
    wrap: (store) => ({ tasks: { create: (task) => store.tasks.create({ ...task, maxFailures: null }) } }),
    cases: taskSteering,
    seen: [
      'one rejected row more than is tolerated pauses the task in that step, and it says why',
      'a share of rejected rows is judged from 100 ended rows on',
      'a share of fewer rows is judged when adding ends, of all that there are',
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
    name: 'a producer that is taken over goes on beside the other',
    wrap: (store) => ({ tasks: { openAdding: (task, producer, now) => store.tasks.openAdding(task, producer, now) } }),
    cases: taskProducers,
    seen: [
      'a producer that replaces one that broke off resumes at its cursor, and the task is adding again',
      'a live producer can be replaced too, by only one of two that try',
    ],
  },
  {
    name: 'a producer that broke off has ended',
    wrap: (store) => ({ tasks: { endAdding: (task, producer, now) => store.tasks.endAdding(task, producer, now) } }),
    cases: taskProducers,
    seen: ['an interrupted task stays so when all its rows have ended, until its producer is taken over and ends'],
  },
  {
    name: 'a row that is put back leaves its dead entry',
    wrap: (store) => ({
      tasks: {
        retryRows(id, run, rows, now) {
          const bare = rows.map(({ dead: _, ...row }) => row)
          return store.tasks.retryRows(id, run, bare, now)
        },
      },
    }),
    cases: taskRuns,
    seen: ['the dead entry of a row goes in the step that puts it back, and only then'],
  },
  {
    name: 'a row that is put back keeps the arguments that it had',
    wrap: (store) => ({
      tasks: {
        retryRows(id, run, rows, now) {
          const bare = rows.map(({ args: _, source: __, ...row }) => row)
          return store.tasks.retryRows(id, run, bare, now)
        },
      },
    }),
    cases: taskRuns,
    seen: ['rows are corrected on their way back; without arguments they stay, and say so'],
  },
  {
    name: 'a row that is lost keeps its place',
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
      'a row that is judged lost is rejected and gives its place to the next; a late end overrules that',
      'a row that is not where it was gives its place to the next, once, and stays what it is',
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
    seen: ['a deleted task is gone from the first call on, and all of it after some more'],
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
    seen: ['a value is remembered once, the first one stays, until its time is over'],
  },
]
