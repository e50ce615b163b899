/** A list and its versions: a client that names the version it has gets only what has changed since. */

import { randomUUID } from 'node:crypto'

export interface Changes<Item> {
  /** Names the state of the list after these changes. */
  version: string
  /** True when `items` is the whole list, because the version of the client is unknown or too old. */
  whole: boolean
  items: Item[]
  /** The keys of the items that are no longer in the list. */
  removed: string[]
}

/** The most keys of removed items that are kept. */
const MOST_REMOVED = 10_000

interface Known<Item> {
  item: Item
  form: string
  /** The version in which it last changed. */
  version: number
}

export class ChangeLog<Item> {
  readonly #keyOf: (item: Item) => string
  /** Versions of another server, or of this one before a restart, are unknown. */
  readonly #name = randomUUID()
  #version = 1
  /** Versions before this one are too old: the keys that were removed since are not kept any more. */
  #oldest = 1
  #known = new Map<string, Known<Item>>()
  /** The version in which a key was removed. */
  readonly #removed = new Map<string, number>()

  constructor(keyOf: (item: Item) => string) {
    this.#keyOf = keyOf
  }

  /** Notes the state of the whole list. */
  update(items: readonly Item[]): void {
    const version = this.#version + 1
    const known = new Map<string, Known<Item>>()
    let hasChanged = false
    for (const item of items) {
      const key = this.#keyOf(item)
      const before = this.#known.get(key)
      const form = JSON.stringify(item)
      const isSame = before?.form === form
      known.set(key, isSame ? before : { item, form, version })
      hasChanged ||= !isSame
      this.#removed.delete(key)
    }
    for (const key of this.#known.keys()) {
      if (known.has(key)) continue
      this.#removed.set(key, version)
      hasChanged = true
    }
    if (!hasChanged) return
    this.#known = known
    this.#version = version
    if (this.#removed.size <= MOST_REMOVED) return
    this.#removed.clear()
    this.#oldest = version
  }

  /** Returns what has changed since a version; the whole list without one. */
  since(version: string | undefined): Changes<Item> {
    const after = this.#numberOf(version)
    const all = [...this.#known.values()]
    return {
      version: `${this.#name}.${this.#version}`,
      whole: after === undefined,
      items: all.filter((one) => after === undefined || one.version > after).map(({ item }) => item),
      removed: after === undefined ? [] : [...this.#removed].flatMap(([key, at]) => (at > after ? [key] : [])),
    }
  }

  #numberOf(version: string | undefined): number | undefined {
    const [name, text] = version?.split('.') ?? []
    const number = Number(text)
    return name === this.#name && number >= this.#oldest && number <= this.#version ? number : undefined
  }
}
