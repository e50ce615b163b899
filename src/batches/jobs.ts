/** Finds the jobs of batches in the pages of a walk through queues and job sets. */

import { isBid, type Payload, readPayload } from '../job/payload.ts'

/** Returns a text that all jobs of these batches have, and others may have. */
export function needleOf(bids: ReadonlySet<string>): string {
  const [only] = bids
  return bids.size === 1 ? `"${only}"` : '"bid"'
}

/** Returns those items that are jobs of these batches, with their payloads. */
export function jobsOf<Item extends { text: string }>(
  items: readonly Item[],
  bids: { has(bid: string): boolean },
): (Item & { payload: Payload & { bid: string } })[] {
  return items.flatMap((item) => {
    const payload = item.text.includes('"bid"') ? readPayload(item.text) : undefined
    if (!payload || !isBid(payload.bid) || !bids.has(payload.bid)) return []
    return [{ ...item, payload: payload as Payload & { bid: string } }]
  })
}
