import type { Store } from '#dist/store/contract.js'

/** Some operations of a store, by area. */
export type Replacement = { [Area in keyof Store]?: Partial<Store[Area]> }

/** Returns the store with these operations instead of its own. */
export function withReplaced(store: Store, replacement: Replacement): Store {
  return new Proxy(store, {
    get(target, area) {
      const member = memberOf(target, area)
      const replaced = Reflect.get(replacement, area) as object | undefined
      if (!replaced) return member
      return new Proxy(member as object, {
        get: (own, name) => (Object.hasOwn(replaced, name) ? memberOf(replaced, name) : memberOf(own, name)),
      })
    },
  })
}

function memberOf(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name)
  return typeof member === 'function' ? member.bind(target) : member
}
