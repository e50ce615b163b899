/**
 * Finds the queues from which owners hold jobs. A script builds the names of the keys: with many queues each owner may have
 * thousands, and most of them do not exist.
 */

import { lua } from '../lua.generated.ts'
import { chunksOf, pairs } from '../server/chunks.ts'
import type { Connection } from '../server/connection.ts'
import type { Keys } from '../server/keys.ts'

/** The most owners of which one script looks for jobs, so that other commands do not wait long for it. */
const MAX_OWNERS = 2

/** Returns each owner with each queue from which it holds jobs, owner by owner. */
export async function heldQueues(
  connection: Connection,
  keys: Keys,
  owners: readonly string[],
): Promise<{ owner: string; queue: string }[]> {
  const held: { owner: string; queue: string }[] = []
  for (const some of chunksOf(owners, () => 0, MAX_OWNERS)) {
    const args = [...aroundQueues(keys), ...some]
    const flat = (await connection.run(lua.heldQueues, some.map(keys.owner), args)) as string[]
    held.push(...pairs(flat).map(([owner, queue]) => ({ owner, queue })))
  }
  return held
}

/** Returns, for the keys `working` and `arriving` each, the text before the queue and the text between queue and owner. */
export function aroundQueues({ working, arriving }: Keys): string[] {
  return [working, arriving].flatMap((keyOf) => keyOf('\n', '').split('\n'))
}
