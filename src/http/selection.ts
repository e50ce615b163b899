/** Acting on jobs that somebody has chosen from a set. */

import type { JobSet, SetEntry } from '../index.ts'
import { messageOf } from '../job/errors.ts'
import { entryByKey, type Named, SEARCH_MS } from './place.ts'
import type { Site } from './site.ts'

export interface Acted {
  done: number
  refused: number
  error?: string
}

const AT_ONCE = 10

/** One that can't be moved does not keep the others from it. */
export async function selected(
  site: Site,
  set: JobSet,
  jobs: readonly Named[],
  act: (entry: SetEntry) => Promise<boolean>,
  signal: AbortSignal,
): Promise<Acted> {
  const seal = await site.seal()
  const keyless = jobs.filter(({ key }) => key === undefined).map(({ jid }) => jid)
  const found = keyless.length > 0 ? await set.among(new Set(keyless), SEARCH_MS) : new Map<string, SetEntry>()
  const acted: Acted = { done: 0, refused: 0 }
  const refuse = (error: string) => {
    acted.refused++
    acted.error ??= error
  }
  const rest = jobs.values()
  const work = async () => {
    for (const { jid, key } of rest) {
      signal.throwIfAborted()
      try {
        const entry = key === undefined ? found.get(jid) : await entryByKey(seal, set, key)
        if (!entry) refuse(`job ${jid.slice(0, 100)} is not there any more`)
        else if (await act(entry)) acted.done++
        else refuse(`somebody else was faster with job ${jid.slice(0, 100)}`)
      } catch (thrown) {
        refuse(messageOf(thrown))
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return acted
}
