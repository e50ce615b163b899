/** The test modes: a push runs its jobs at once, or collects them, instead of storing them. */

import type { AppPort } from '../app/port.ts'
import { DirectTarget, type OrderedPushed, type PreparedOrderedPush, type PreparedPush } from '../client/push-target.ts'
import { Chain } from '../job/chain.ts'
import type { JobContext } from '../job/context.ts'
import { parseJson } from '../job/json.ts'
import { type Payload, readPayload } from '../job/payload.ts'

/** A test mode. It ends with `using`, or with `dispose()`. */
export class Mode implements Disposable {
  #end: () => void = () => {}

  /** Sets a function that runs once, when the mode ends. */
  onEnd(end: () => void): void {
    this.#end = end
  }

  dispose(): void {
    const end = this.#end
    this.#end = () => {}
    end()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

/** A test mode that keeps or runs jobs instead of storing them. */
export abstract class TestTarget extends DirectTarget implements Disposable {
  /** Middleware around the jobs that are run. The app's own server middleware does not run. */
  readonly server = new Chain<JobContext, unknown>()
  protected readonly app: AppPort
  readonly #mode = new Mode()

  constructor(app: AppPort) {
    super()
    this.app = app
  }

  async putAll(jobs: PreparedPush[]): Promise<void> {
    for (const job of jobs) await this.put(job)
  }

  onEnd(end: () => void): void {
    this.#mode.onEnd(end)
  }

  dispose(): void {
    this.#mode.dispose()
  }

  [Symbol.dispose](): void {
    this.#mode.dispose()
  }
}

/** Runs jobs at once, where they are pushed. A push throws what the handler throws. */
export class Inline extends TestTarget {
  async put(job: PreparedPush): Promise<void> {
    await this.app.run(arrived(job), this.server)
  }

  async putOrdered(push: PreparedOrderedPush): Promise<void> {
    await push.run(itemsOf(push), this.server)
  }
}

/** Returns a job as a worker would read it; a scheduled one has its time in `at`. */
export function arrived({ destination }: PreparedPush): Payload {
  const payload = readPayload(destination.text) as Payload
  if (destination.to !== 'queue') payload.at = destination.score
  return payload
}

/** Returns items as a worker would read them. */
export function itemsOf({ batches }: PreparedOrderedPush): OrderedPushed[] {
  return batches.flatMap(({ items }) =>
    items.map(({ payload, wake: _, ...rest }) => ({ ...rest, payload: parseJson(payload) })),
  )
}
