/** Looks once, when a worker starts, whether the Ruby processes beside it understand what this app writes. */

import { type Sidekiq, sidekiqOf } from '../../job/payload.ts'
import type { BackgroundService } from '../background-service.ts'
import type { Engine } from '../engine.ts'

type Needs = Pick<Engine, 'store' | 'log' | 'wire' | 'report'>

export class WireCheck implements BackgroundService {
  readonly #engine: Needs

  constructor(engine: Needs) {
    this.#engine = engine
  }

  /** A hint is not worth a worker that does not start. */
  async start(): Promise<void> {
    await this.#look().catch((thrown) => this.#engine.report(thrown, { during: 'looking at the processes beside it' }))
  }

  quiet(): void {}

  stop(): void {}

  async #look(): Promise<void> {
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

/** The dialect of a Sidekiq process; 6 tells no version. Undefined for our own processes, whose versions are lower. */
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
