/** Checks, when a worker starts, whether the Ruby processes beside it can read the jobs of this app. */

import { type Sidekiq, sidekiqOf } from '../../job/payload.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine } from '../engine.ts'

type Needs = Pick<Engine, 'store' | 'log' | 'wire' | 'report'>

export class WireCheck implements BackgroundService {
  readonly #engine: Needs

  constructor(engine: Needs) {
    this.#engine = engine
  }

  /** Never rejects: the worker starts without the advice, too. */
  async start(): Promise<void> {
    await this.#check().catch((thrown) => this.#engine.report(thrown, { during: 'checking the processes beside it' }))
  }

  quiet(): void {}

  stop(): void {}

  async #check(): Promise<void> {
    const { store, log } = this.#engine
    const wire = sidekiqOf(this.#engine.wire)
    const others = new Map<Sidekiq, string[]>()
    for (const { identity, info } of await store.workers.processes()) {
      const theirs = sidekiqVersionOf(info)
      if (theirs === undefined || theirs === wire) continue
      others.set(theirs, [...(others.get(theirs) ?? []), identity])
    }
    for (const [theirs, processes] of others) {
      const advice = `here wire is ${wire}, and processes of Sidekiq ${theirs} work beside it: ${meaning(theirs, wire)}`
      if (wire === 8) log.warn({ processes }, `${advice}; use new Highkiq({ wire: ${theirs} })`)
      else log.info({ processes }, advice)
    }
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
  if (wire === 8) return 'they take our times, which are milliseconds, for seconds'
  if (theirs === 8) return 'they read our times, but those of other versions do not read theirs'
  return 'they keep what runs under another key'
}
