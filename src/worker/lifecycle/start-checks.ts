/** Logs, when a worker starts, what endangers its jobs: settings of the store, and Ruby processes that can't read them. */

import { type Sidekiq, sidekiqOf } from '../../job/payload.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine } from '../engine.ts'

export function startChecks(engine: Engine): BackgroundService {
  // The worker starts without the advice, too.
  const safely = (work: Promise<void>, during: string) => work.catch((thrown) => engine.report(thrown, { during }))
  return {
    async start() {
      await safely(checkStore(engine), 'checking the settings of the store')
      await safely(checkWire(engine), 'checking the processes beside it')
    },
  }
}

async function checkStore({ store, log }: Engine): Promise<void> {
  for (const advice of await store.workers.advice()) log.warn({}, advice)
}

async function checkWire(engine: Engine): Promise<void> {
  const { store, log } = engine
  const wire = sidekiqOf(engine.wire)
  const others = new Map<Sidekiq, string[]>()
  for (const { identity, info } of await store.workers.processes()) {
    const theirs = sidekiqVersionOf(info)
    if (theirs === undefined || theirs === wire) continue
    others.set(theirs, [...(others.get(theirs) ?? []), identity])
  }
  for (const [theirs, processes] of others) {
    const advice = `this process writes jobs in the format of Sidekiq ${wire} (option wire), but Sidekiq ${theirs} runs beside it: ${meaning(theirs, wire)}`
    if (wire === 8) log.warn({ processes }, `${advice}; use new Highkiq({ wire: ${theirs} })`)
    else log.info({ processes }, advice)
  }
}

/** Returns the major version of a Sidekiq process; 6 does not show one. Undefined for our own processes, which have lower ones. */
export function sidekiqVersionOf(info: string): Sidekiq | undefined {
  try {
    const { version } = JSON.parse(info) as { version?: unknown }
    const major = version === undefined ? 6 : Number.parseInt(String(version), 10)
    if (major >= 8) return 8
    return major === 7 || major === 6 ? major : undefined
  } catch {
    return undefined
  }
}

function meaning(theirs: Sidekiq, wire: Sidekiq): string {
  if (wire === 8) return 'it reads our times, which are milliseconds, as seconds'
  if (theirs === 8) return "it can read our times, but older versions can't read its times"
  return 'it stores the running jobs of its processes under another key'
}
