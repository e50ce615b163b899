/** Actions on selected jobs of a set. */

import type { JobSet, SetEntry } from '../../index.ts'
import { messageOf } from '../../job/errors.ts'
import type { ServerContext } from '../server/server-context.ts'
import { entryByKey, type NamedJob, SEARCH_MS } from './job-key.ts'

export interface ActionResult {
  done: number
  refused: number
  error?: string
}

const AT_ONCE = 10

/** A job that can't be moved does not stop the others. `acted` is updated while they are done. */
export async function actOnSelected(
  server: ServerContext,
  set: JobSet,
  jobs: readonly NamedJob[],
  act: (entry: SetEntry) => Promise<boolean>,
  acted: ActionResult,
  signal: AbortSignal,
): Promise<void> {
  const seal = await server.seal()
  const keyless = jobs.filter(({ key }) => key === undefined).map(({ jid }) => jid)
  const found = keyless.length > 0 ? await set.among(new Set(keyless), SEARCH_MS) : new Map<string, SetEntry>()
  const refuse = (error: string) => {
    acted.refused++
    acted.error ??= error
  }
  const rest = jobs.values()
  const work = async () => {
    for (const { jid, key } of rest) {
      signal.throwIfAborted()
      try {
        const entry = key === undefined ? found.get(jid) : await entryByKey(seal, set, { jid, key })
        if (!entry) refuse(`job ${jid.slice(0, 100)} was not found`)
        else if (await act(entry)) acted.done++
        else refuse(`another request was faster with job ${jid.slice(0, 100)}`)
      } catch (thrown) {
        refuse(messageOf(thrown))
      }
    }
  }
  // Waits for all workers before it throws, so that nothing runs after that.
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
