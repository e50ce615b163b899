/**
 * Where the states of alerts are stored: one for each set of targets, so that apps with different targets on one store do
 * not share a leader. A list of the states lets any process read them all.
 */

import { createHash } from 'node:crypto'
import { isObject, parseJson, stringifyJson } from '../job/json.ts'
import type { Store } from '../store/contract.ts'
import type { AlertPlan } from './options.ts'
import { type AlertState, emptyState, readState } from './state.ts'

/** A state, and its name in the list, are kept for this long after the last write. */
export const STATE_SECONDS = 30 * 86_400
const LIST_KEY = 'alerts'
/** How often a write is tried when other processes write, too. */
export const WRITES = 5

/** Returns the key of the state of these targets, in any order. The lock of their leader has the same name. */
export function stateKey({ targets }: Pick<AlertPlan, 'targets'>): string {
  const ids = targets.map(({ id }) => id).sort()
  return `alerts:${createHash('sha256').update(ids.join()).digest('hex').slice(0, 16)}`
}

/** Adds a state to the list, and removes those that have expired. `now` is in milliseconds. */
export async function listState({ results }: Pick<Store, 'results'>, key: string, now: number): Promise<void> {
  let there = await results.remember(LIST_KEY, '', 0)
  for (let n = 0; n < WRITES; n++) {
    const current = Object.entries(listIn(there)).filter(([, at]) => now - at < STATE_SECONDS * 1000)
    const text = stringifyJson({ ...Object.fromEntries(current), [key]: now })
    there = await results.remember(LIST_KEY, text, STATE_SECONDS, there ?? '')
    if (there === null) return
  }
}

/** Returns the states of all sets of targets, those that were listed last first. */
export async function storedStates({ results }: Pick<Store, 'results'>): Promise<AlertState[]> {
  const listed = Object.entries(listIn(await results.remember(LIST_KEY, '', 0)))
  const keys = listed.sort(([, a], [, b]) => b - a).map(([key]) => key)
  const texts = await Promise.all(keys.map((key) => results.remember(key, '', 0)))
  return texts.flatMap((text) => (text === null ? [] : [readState(text)]))
}

/** Returns the first state of a new set of targets: what each of them was sent as part of another set. */
export async function inheritedState(store: Pick<Store, 'results'>, { targets }: AlertPlan): Promise<AlertState> {
  const states = await storedStates(store)
  const inherited = emptyState()
  for (const { id } of targets) {
    const from = states.find((state) => state.targets[id])
    const target = from?.targets[id]
    if (!from || !target) continue
    inherited.targets[id] = target
    for (const key of [...Object.keys(target.problems), ...target.tried]) {
      const problem = from.problems[key]
      if (problem) inherited.problems[key] ??= problem
    }
  }
  return inherited
}

/** Returns when each state was listed, by its key; empty for a text of another program. */
function listIn(text: string | null): Record<string, number> {
  try {
    const list = parseJson(text ?? '')
    if (!isObject(list)) return {}
    return Object.fromEntries(
      Object.entries(list).filter((entry): entry is [string, number] => Number.isFinite(entry[1])),
    )
  } catch {
    return {}
  }
}
