/** Makes `instanceof` true for objects of another copy of this package, too. A bundler may make several copies. */

/** The static member that names a class. The same class of another copy has the same name. */
export const KIND: unique symbol = Symbol.for('highkiq.kind')

/** Returns the value of `value instanceof ours`. A class of the app has no such name: it uses the standard `instanceof`. */
export function isInstanceOf(ours: { [KIND]?: string }, value: unknown): boolean {
  const name = Object.hasOwn(ours, KIND) ? ours[KIND] : undefined
  if (name === undefined) return Function.prototype[Symbol.hasInstance].call(ours, value)
  if (typeof value !== 'object' || value === null) return false
  for (let proto = Object.getPrototypeOf(value); proto !== null; proto = Object.getPrototypeOf(proto)) {
    const { constructor: theirs } = proto as { constructor?: { [KIND]?: string } | null }
    if (theirs && Object.hasOwn(theirs, KIND) && theirs[KIND] === name) return true
  }
  return false
}
