/** The jobs of an app, and the handlers of its queues. */

import {
  checkJobOptions,
  checkQueueName,
  type Handler,
  type JobDefinition,
  type JobOptions,
  type ProcessOptions,
} from '../job/definition.ts'
import { HighkiqError, invalidOption } from '../job/errors.ts'
import type { Binding } from '../worker/lifecycle/capsules.ts'

const HOT_RELOAD = ' (if hot reload runs this code again, make the app with Highkiq.once)'

export class Registry {
  /** Whether a definition replaces the one of the same name (`Highkiq.once`). */
  canReplace = false
  readonly #defaults: JobOptions
  readonly #hasKeys: boolean
  readonly #jobs = new Map<string, JobDefinition>()
  /** The handlers of `hq.process`, for classes without a job in this app. */
  readonly #processes = new Map<string, { definition: JobDefinition; concurrency: number | undefined }>()

  /** `hasKeys`: the app can encrypt arguments. */
  constructor(defaults: JobOptions, hasKeys: boolean) {
    this.#defaults = defaults
    this.#hasKeys = hasKeys
  }

  /** @throws INVALID_OPTION, DUPLICATE_JOB */
  define(name: string, options: JobOptions, handler: Handler<never[]>, isIterable: boolean): JobDefinition {
    if (typeof name !== 'string' || name === '')
      throw invalidOption('hq.job: the name of a job must be a string that is not empty')
    if (typeof handler !== 'function') {
      throw invalidOption(`${name}: the handler must be a function`)
    }
    const before = this.#jobs.get(name)
    if (before && !this.canReplace)
      throw new HighkiqError('DUPLICATE_JOB', `a job named ${name} is already defined${HOT_RELOAD}`)
    checkJobOptions(name, options)
    const definition: JobDefinition = {
      name,
      options: { ...this.#defaults, ...options },
      own: options,
      handler,
      isIterable,
    }
    if (definition.options.encrypt && !this.#hasKeys) {
      throw invalidOption(`${name}: encrypt needs keys: new Highkiq({ encryption: { keys: { 1: key }, active: 1 } })`)
    }
    if (options.keepFinished && definition.options.track) {
      throw invalidOption(
        `${name}: keepFinished keeps no job with track, whose task keeps an event with the result (hq.tasks.event(jid)): leave out keepFinished, or say track: false`,
      )
    }
    // In place: what was made of the definition before – jobs, cron entries, running workers – has the new one, too.
    if (before) return Object.assign(before, definition)
    this.#jobs.set(name, definition)
    return definition
  }

  /** Whether `bind` would replace the handler of this queue. */
  replacesProcess(queue: string): boolean {
    return this.canReplace && this.#processes.has(queue)
  }

  /** @throws INVALID_OPTION, DUPLICATE_JOB */
  bind(queue: string, { concurrency, ...options }: ProcessOptions, handler: Handler<never[]>): void {
    const name = `process ${queue}`
    const wrong = (what: string) => invalidOption(`${name}: ${what}`)
    checkQueueName(queue)
    checkJobOptions(name, options)
    if (typeof handler !== 'function') throw wrong('the handler must be a function')
    if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1)) {
      throw wrong('concurrency must be a whole number, at least 1')
    }
    if (this.#processes.has(queue) && !this.canReplace)
      throw new HighkiqError('DUPLICATE_JOB', `queue ${queue} already has a handler${HOT_RELOAD}`)
    const definition: JobDefinition = { name, options: { ...this.#defaults, ...options }, own: options, handler }
    this.#processes.set(queue, { definition, concurrency })
  }

  get(name: string): JobDefinition | undefined {
    return this.#jobs.get(name)
  }

  /** @throws UNKNOWN_JOB with the names of all jobs */
  named(name: string): JobDefinition {
    const definition = this.#jobs.get(name)
    if (definition) return definition
    const known = [...this.#jobs.keys()].join(', ') || 'none'
    throw new HighkiqError('UNKNOWN_JOB', `no job is named ${JSON.stringify(name)}; defined here: ${known}`, {
      job: name,
    })
  }

  /** Returns the definition of a class, or else the handler of its queue. */
  of(name: string, queue = ''): JobDefinition | undefined {
    return this.#jobs.get(name) ?? this.#processes.get(queue)?.definition
  }

  /** The jobs of `hq.job`, without the handlers of queues. */
  get jobs(): JobDefinition[] {
    return [...this.#jobs.values()]
  }

  get all(): JobDefinition[] {
    return [...this.jobs, ...[...this.#processes.values()].map(({ definition }) => definition)]
  }

  /** Returns the queues that the jobs name, each once, in order of definition. */
  get queues(): string[] {
    const named = this.jobs.flatMap(({ options: { queue = 'default', retryQueue = queue } }) => [queue, retryQueue])
    return [...new Set(named)]
  }

  get bindings(): Binding[] {
    return [...this.#processes].map(([queue, { concurrency }]) => ({ queue, concurrency }))
  }
}
