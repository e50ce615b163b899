/** Makes `instanceof` true for objects of another copy of this package, too: a bundler may make several. */

/** The member with the name of a class; the class of another copy has the same name. */
export const KIND: unique symbol = Symbol.for('highkiq.kind')

/** Returns what `value instanceof ours` means. A class of the app, which has no such name, is only itself. */
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
