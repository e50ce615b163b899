/** A list that is kept up to date by changes. */

/** An answer of the server; see `ChangeLog` there. */
export interface Changes<Item> {
  version: string
  whole: boolean
  items: readonly Item[]
  removed: readonly string[]
}

export interface LiveList<Item> {
  version: string
  /** Sorted by their keys. */
  items: readonly Item[]
}

/**
 * Returns the list after the changes. Answers may arrive in another order than they were requested in: one that is older than
 * the list changes nothing.
 */
export function merged<Item>(
  list: LiveList<Item> | undefined,
  { version, whole, items, removed }: Changes<Item>,
  keyOf: (item: Item) => string,
): LiveList<Item> {
  if (list && !follows(version, whole, list.version)) return list
  const all = new Map((whole || !list ? [] : list.items).map((item) => [keyOf(item), item]))
  for (const item of items) all.set(keyOf(item), item)
  for (const key of removed) all.delete(key)
  return { version, items: [...all.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) }
}

/** Whether an answer belongs after a version. Another server answers with its whole list. */
function follows(version: string, whole: boolean, known: string): boolean {
  const [name, number] = version.split('.')
  const [server, newest] = known.split('.')
  return name === server ? Number(number) >= Number(newest) : whole
}
