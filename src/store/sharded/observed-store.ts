/** The store of a shard, whose calls fail at once while it can't be reached. */

import type { Store } from '../contract.ts'
import type { CallKind, Reachability } from './reachability.ts'

const AREAS = [
  'jobs',
  'workers',
  'jobSets',
  'search',
  'cancellations',
  'tasks',
  'ordered',
  'crons',
  'limits',
  'events',
  'unique',
  'batches',
  'metrics',
  'results',
  'transfers',
] as const
type Area = (typeof AREAS)[number]

const PUSHES: ReadonlySet<string> = new Set(['jobs.push', 'tasks.pushTracked', 'batches.push', 'ordered.push'])
/** Calls on connections of their own, which wait until something happens. */
const WAITS: ReadonlySet<string> = new Set([
  'workers.waitForJobs',
  'jobSets.waitUntilDue',
  'ordered.wait',
  'results.find',
])
/** Methods that make no call to the shard. */
const LOCAL: ReadonlySet<string> = new Set(['workers.renewer'])

/** Returns a shard's store whose calls go through `reachability`. */
export function observed(store: Store, reachability: Reachability): Store {
  const areas = Object.fromEntries(AREAS.map((area) => [area, observedArea(area, store[area], reachability)]))
  const { kind, url, maxConcurrentCalls } = store
  return {
    ...(areas as Pick<Store, Area>),
    kind,
    url,
    maxConcurrentCalls,
    open: () => reachability.verified(),
    close: () => {
      reachability.close()
      return store.close()
    },
    ...(store.diagnose && { diagnose: store.diagnose.bind(store) }),
  }
}

type Method = (...args: unknown[]) => Promise<unknown>

function observedArea<Methods extends object>(area: Area, methods: Methods, reachability: Reachability): Methods {
  const known = new Map<string | symbol, unknown>()
  const member = (name: string | symbol) => {
    const value = Reflect.get(methods, name, methods)
    const path = `${area}.${String(name)}`
    if (typeof value !== 'function' || LOCAL.has(path)) return value
    const method = value.bind(methods) as Method
    const kind: CallKind = PUSHES.has(path) ? 'push' : WAITS.has(path) ? 'wait' : 'call'
    return (...args: unknown[]) => reachability.call(() => method(...args), kind)
  }
  return new Proxy(methods, {
    get(_, name) {
      if (!known.has(name)) known.set(name, member(name))
      return known.get(name)
    },
  })
}
