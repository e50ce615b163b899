type Methods<T> = { [K in keyof T as T[K] extends (...args: never[]) => unknown ? K : never]: T[K] }

/**
 * Returns the methods of an object, bound to it, so that several classes can make up one area of the contract:
 * `{ ...methodsOf(leases), ...methodsOf(processes) }`.
 */
export function methodsOf<T extends object>(part: T): Methods<T> {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((name) => name !== 'constructor')
  return Object.fromEntries(
    names.map((name) => [name, (part as Record<string, () => unknown>)[name]?.bind(part)]),
  ) as Methods<T>
}
