import type { Store } from '#dist/store/contract.js'
import { job, NOW, toQueue } from '../conformance/bench.ts'
import { single } from '../conformance/tasks/tracked.ts'

/** Returns a push of each kind, by its name. Each stores `ballast` in at least one text. */
export function kindsOfPushes(store: Store, ballast = ''): Record<string, () => Promise<unknown>> {
  const text = job(1, { ballast })
  const to = (queue: string) => toQueue(queue, text)
  const later = { to: 'schedule', text, score: NOW / 1000 + 60 } as const
  const { task, item } = single(1, JSON.stringify([ballast]))
  const bid = '1'.repeat(16)
  const callbacks = { parent: null, onComplete: null, onSuccess: null, onDeath: null, job: null }
  const batch = { bid, meta: '{}', keep: 1000, createdAt: NOW, ...callbacks }
  const members = ['q', 'r'].map((queue) => ({ bid, id: queue, item: to(queue) }))
  const ordered = { id: '1', payload: JSON.stringify(ballast), score: 1, performIn: 1 }
  return {
    'a job': () => store.jobs.push([to('q')], NOW),
    'jobs of several queues': () => store.jobs.push([to('q'), to('r'), to('s')], NOW),
    'more jobs than one statement has': () => {
      const small = Array.from({ length: 1500 }, (_, n) => toQueue('q', job(n)))
      return store.jobs.push([to('q'), ...small], NOW)
    },
    'a job for later, and one for a queue': () => store.jobs.push([later, to('q')], NOW),
    'a unique job': () => store.jobs.push([{ ...to('q'), unique: { jid: '1', claims: [{ key: 'k' }] } }], NOW),
    'a job of a queue with a limited length': () => store.jobs.push([{ ...to('q'), maxLength: 1e6 }], NOW),
    'a tracked job': () => store.tasks.pushTracked([{ task, item }], NOW),
    'a batch': () => store.batches.push({ batches: [batch], members }, NOW),
    'an item of an ordered queue': () => store.ordered.push('o', 4, [ordered], NOW),
  }
}
