/** Loads a long list once, and with each update only what has changed in it. */

import { useRef } from 'preact/hooks'
import { ask } from '../api/client.ts'
import { type Changes, type LiveList, merged } from './live-list.ts'
import { type Data, useData } from './use-data.ts'

export function useLiveList<Item>(
  path: string,
  keyOf: (item: Item) => string,
  options: { restMs?: number } = {},
): Data<readonly Item[]> {
  const list = useRef<LiveList<Item>>(undefined)
  const load = async () => {
    const changes = await ask<Changes<Item>>(path, { since: list.current?.version })
    list.current = merged(list.current, changes, keyOf)
    return list.current.items
  }
  return useData<readonly Item[]>(path, {}, { ...options, load })
}
