/** `hq.alerts`: what needs attention now, and whether messages about it arrive. */

import type { AppPort } from '../app/port.ts'
import { type HighkiqError, invalidOption } from '../job/errors.ts'
import { isFromLostShard } from '../job/without-unreachable.ts'
import { type Alert, keyOf } from './alert.ts'
import { deliver } from './delivery.ts'
import { alertFinder } from './finder.ts'
import { type MessagePlan, reportOf, testMessage } from './message.ts'
import { type AlertPlan, alertPlan } from './options.ts'
import { storedStates } from './stored-states.ts'

/** Something that needs attention. */
export interface OpenAlert {
  kind: Alert['kind']
  level: Alert['level']
  title: string
  text: string
  /** Its page in the dashboard; null without `publicUrl`. */
  url: string | null
  /** When it began; null when no worker has sent it, or would. */
  since: Date | null
  /** Its figures and names. */
  details: Record<string, unknown>
}

/** What happened to a test message. */
export interface TestResult {
  /** The name of the target. */
  target: string
  /** Why it was not sent; null: it was. */
  error: string | null
  /** Milliseconds. */
  took: number
}

/** The most alerts of each kind. */
const MOST = 100

export class Alerts {
  readonly #app: Pick<AppPort, 'store' | 'now' | 'settings'>

  constructor(app: Pick<AppPort, 'store' | 'now' | 'settings'>) {
    this.#app = app
  }

  /** Returns what needs attention now. Only a process that has watched a queue knows that it grows, so the store is asked for this. */
  async now(): Promise<OpenAlert[]> {
    const { store, settings } = this.#app
    const [{ alerts }, states] = await Promise.all([
      alertFinder(this.#app, { most: MOST }).find(),
      // Without them the alerts have no beginning.
      storedStates(store).catch((thrown) => {
        if (!isFromLostShard(thrown, store)) throw thrown
        return []
      }),
    ])
    const found: Alert<Date | string>[] = alerts
    const known = new Set(found.map(keyOf))
    // Apps with different targets each store a problem; the one that has seen it first knows when it began.
    const open = states
      .flatMap(({ problems }) => Object.entries(problems).filter(([, { over }]) => over === null))
      .sort(([, a], [, b]) => b.since - a.since)
    const problems = Object.fromEntries(open)
    const watched = Object.entries(problems).filter(
      ([key, { alert }]) => alert.kind === 'queue-grows' && !known.has(key),
    )
    const plan = { ...this.#plan(), publicUrl: settings.publicUrl }
    return [...found, ...watched.map(([, { alert }]) => alert)].map((alert) => {
      const problem = problems[keyOf(alert)]
      const since = problem ? new Date(problem.since) : null
      const { title, text, url } = reportOf(plan, { alert, since: 0, over: null })
      const { kind, level, ...details } = alert
      return { kind, level, title, text, url, since, details }
    })
  }

  /** Sends a test message to each target, and returns what happened. @throws INVALID_OPTION without the option `alerts` */
  async test(): Promise<TestResult[]> {
    const { settings, now } = this.#app
    if (!settings.alerts) {
      throw invalidOption(
        "there is no target: give new Highkiq the option alerts, such as { to: [{ slack: 'https://…' }] }",
      )
    }
    const plan = alertPlan(settings.alerts)
    const message = testMessage({ ...plan, publicUrl: settings.publicUrl }, now())
    return Promise.all(
      plan.targets.map(async (target) => {
        const began = performance.now()
        const error = await deliver(target, message, plan.language, new AbortController().signal).then(
          () => null,
          (thrown: HighkiqError) => String(thrown.details?.why ?? thrown.message),
        )
        return { target: target.name, error, took: Math.round(performance.now() - began) }
      }),
    )
  }

  #plan(): Pick<MessagePlan & AlertPlan, 'app' | 'language' | 'timeZone'> {
    const { alerts } = this.#app.settings
    return alerts ? alertPlan(alerts) : { app: 'highkiq', language: 'en', timeZone: 'UTC' }
  }
}
