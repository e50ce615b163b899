/** Retries rows of several tasks, each named by its jid. */

import { sendRequest } from '../../api/client.ts'
import type { Acted, TaskRetried } from '../../api/types.ts'
import { refusalText } from '../../format/refusal.ts'

/** Retries the rows as they are, by a request for each task. */
export async function retryRowsByJid(jids: readonly string[]): Promise<Acted> {
  const taskOf = (jid: string) => jid.slice(0, 16)
  const sum: Acted = { done: 0, refused: 0 }
  for (const id of new Set(jids.map(taskOf))) {
    const some = jids.filter((jid) => taskOf(jid) === id)
    const rows = some.map((jid) => ({ index: Number.parseInt(jid.slice(16), 16) }))
    try {
      const { rows: done } = await sendRequest<TaskRetried>('POST', `/tasks/${id}/retry`, { rows })
      sum.done += done
      sum.refused += rows.length - done
    } catch (thrown) {
      sum.refused += rows.length
      sum.error ??= refusalText(thrown)
    }
  }
  return sum
}
