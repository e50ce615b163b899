/** The names of stores in the pages and tasks that move between them. */

import { randomUUID } from 'node:crypto'
import type { Store } from '../store/contract.ts'

const STORE_ID = 'store-id'

/** Returns the id of a store, which a copy of it has, too. */
export function idOf(store: Store): Promise<string> {
  return store.results.secret(STORE_ID, randomUUID())
}

/** Returns the text that names a store as the target of a page or task. */
export async function nameOf(store: Store): Promise<string> {
  return JSON.stringify([await idOf(store), store.url])
}

/** Reads what a page or task says about its target. */
export function targetOf(name: string): { id: string; url: string } {
  const [id, url] = JSON.parse(name) as [string, string]
  return { id, url }
}
