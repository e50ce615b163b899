/** `@Job()`: methods of providers that are jobs. */

import type { JobContext } from '../job/context.ts'
import type { JobOptions } from '../job/definition.ts'

/** A method of a provider, as it was decorated. */
export interface JobMethod {
  name: string
  options: JobOptions
  method: string | symbol
}

/** The methods that are jobs, by the prototype of their class. */
const METHODS = new WeakMap<object, JobMethod[]>()

/**
 * Makes a method of a provider or controller a job: it gets the context and the arguments of each push.
 *
 * @example
 * `@Job('SendMail', { retry: 3 })`
 * async send(ctx: JobContext, to: string) {}
 */
export function Job(name: string, options: JobOptions = {}) {
  return (
    prototype: object,
    method: string | symbol,
    _descriptor: { value?: (ctx: JobContext, ...args: never[]) => unknown },
  ): void => {
    METHODS.set(prototype, [...(METHODS.get(prototype) ?? []), { name, options, method }])
  }
}

/** Returns the jobs of an object, also those of its base classes. */
export function jobMethodsOf(instance: object): JobMethod[] {
  const prototype: object | null = Object.getPrototypeOf(instance)
  return prototype ? [...(METHODS.get(prototype) ?? []), ...jobMethodsOf(prototype)] : []
}
