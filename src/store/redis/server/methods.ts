type Methods<T, K extends keyof T> = { [Name in K]: T[Name] }

/**
 * Returns the named methods of an object, bound to it, so that several classes can make up one area of the contract:
 * `{ ...methods(leases, 'renew', 'tidy'), ...methods(processes, 'heartbeat') }`.
 */
export function methods<T extends object, K extends keyof T>(part: T, ...names: K[]): Methods<T, K> {
  return Object.fromEntries(names.map((name) => [name, (part[name] as () => unknown).bind(part)])) as Methods<T, K>
}
