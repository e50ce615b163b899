/** The pushes that a function makes: they end before the function counts as ended, and the first error is that of all. */

import { invalidOption } from '../job/errors.ts'
import { forEachOf } from '../job/json.ts'
import type { Bulk } from './bulk.ts'
import type { PushPipe } from './push-target.ts'
import type { PushRequest } from './request.ts'

export class OpenSteps {
  readonly #of: string
  readonly #open = new Set<Promise<unknown>>()
  #isClosed = false
  #failure: { thrown: unknown } | undefined

  /** `of`: what the function belongs to, for example `a batch`. */
  constructor(of: string) {
    this.#of = of
  }

  /** Runs a step. Its error is also that of `close`, so nobody has to handle it. */
  track<T>(work: () => Promise<T>): Promise<T> {
    const step = this.#isClosed ? Promise.reject(this.#late()) : work()
    if (!this.#isClosed) {
      this.#open.add(step)
      step.then(
        () => this.#open.delete(step),
        (thrown) => {
          this.#open.delete(step)
          this.#failure ??= { thrown }
        },
      )
    }
    step.catch(() => {})
    return step
  }

  /** Waits for all steps. @throws the first error of a step, also when the function has caught it */
  async close(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open)
    this.#isClosed = true
    if (this.#failure) throw this.#failure.thrown
  }

  #late(): Error {
    return invalidOption(`a push came after the function of ${this.#of} had returned: await each push in the function`)
  }
}

/** Collects the jobs of a bulk one by one. Resolves with their jids; null for a job that middleware stopped. */
export async function collectEach<Args extends unknown[]>(
  pipe: PushPipe,
  bulk: Bulk<Args>,
  collect: (pipe: PushPipe, request: PushRequest) => Promise<string | null>,
): Promise<(string | null)[]> {
  const plan = pipe.plan(bulk)
  const jids: (string | null)[] = []
  await forEachOf<unknown>(bulk.rows, (args) => {
    const added = collect(pipe, plan.request(args, jids.length))
    return added.then((jid) => void jids.push(jid))
  })
  plan.end(jids.length)
  return jids
}
