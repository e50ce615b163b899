/**
 * Tests programs that push jobs. They need no store, and jobs run when the test calls for it.
 *
 * Apart from storing, a push works as usual: it checks the arguments and runs the client middleware, and a job gets its
 * arguments as JSON returns them.
 *
 * @module highkiq/testing
 * @example
 * import { fake } from 'highkiq/testing'
 * using jobs = fake(hq)
 * await signUp('ann')
 * expect(WelcomeMail.jobs).toMatchObject([{ args: ['ann'] }])
 * await WelcomeMail.drain()
 */

import type { AppPort } from '../app/port.ts'
import { type Highkiq, PORT } from '../app.ts'
import { invalidOption } from '../job/errors.ts'
import { Fake } from './fake.ts'
import { Inline, Mode, type TestTarget } from './mode.ts'

export type { Fake, Inline, Mode }

/**
 * Keeps pushes in memory: see `HardJob.jobs`, `drain()`, `performOne()` and `clear()`, which the mode has for all jobs,
 * too. The mode applies to `work` and what it awaits; without `work` to the whole app until the mode ends.
 * @throws INVALID_OPTION when another mode is on
 */
export function fake(hq: Highkiq): Fake
export function fake<T>(hq: Highkiq, work: (mode: Fake) => T): Promise<Awaited<T>>
export function fake<T>(hq: Highkiq, work?: (mode: Fake) => T): Fake | Promise<Awaited<T>> {
  const mode = new Fake(hq[PORT])
  return begin(hq, 'fake', mode, mode, work)
}

/** Runs each job when it is pushed, also a scheduled one. A push throws what the handler throws. */
export function inline(hq: Highkiq): Inline
export function inline<T>(hq: Highkiq, work: (mode: Inline) => T): Promise<Awaited<T>>
export function inline<T>(hq: Highkiq, work?: (mode: Inline) => T): Inline | Promise<Awaited<T>> {
  const mode = new Inline(hq[PORT])
  return begin(hq, 'inline', mode, mode, work)
}

/** Stores pushes as usual in a part of a test, while the app is in another mode. */
export function disable(hq: Highkiq): Mode
export function disable<T>(hq: Highkiq, work: (mode: Mode) => T): Promise<Awaited<T>>
export function disable<T>(hq: Highkiq, work?: (mode: Mode) => T): Mode | Promise<Awaited<T>> {
  return begin(hq, 'disable', new Mode(), undefined, work)
}

/** Runs all pushed jobs until none is left. @returns how many; @throws what a handler throws */
export async function drainAll(hq: Highkiq): Promise<number> {
  const collecting = hq[PORT].client.testing.current
  if (collecting instanceof Fake) return collecting.drain()
  throw invalidOption('drainAll: nothing is collected here: call fake(hq) first')
}

/** The app-wide modes that are on. */
const modes = new WeakMap<AppPort, string>()

/** Starts a mode. One scoped mode may run inside one app-wide mode. */
function begin<Which extends Mode | TestTarget, T>(
  hq: Highkiq,
  name: string,
  mode: Which,
  target: TestTarget | undefined,
  work: ((mode: Which) => T) | undefined,
): Which | Promise<Awaited<T>> {
  const app = hq[PORT]
  const { testing } = app.client
  const refuse = (where: string) => invalidOption(`${name}(hq) ${where}: end that one first`)
  if (testing.isScoped) {
    const refused = refuse('inside the function of another mode')
    if (work) return Promise.reject(refused)
    throw refused
  }
  if (work) return testing.within(target, async () => work(mode)) as Promise<Awaited<T>>
  const current = modes.get(app)
  if (current) throw refuse(`while ${current}(hq) is on`)
  modes.set(app, name)
  testing.everywhere = target
  mode.onEnd(() => {
    modes.delete(app)
    testing.everywhere = undefined
  })
  return mode
}
