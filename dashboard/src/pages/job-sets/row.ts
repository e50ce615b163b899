/** A row of a list of jobs, and what identifies it. */

export interface Row<Item> {
  /** Identifies the row in the list and in the address: its jid, with more if other rows have the same or none. */
  id: string
  job: Item
}

/**
 * Returns a row for each job. Rows that share their jid, or have none, are told apart by their payloads: their positions
 * change while the list is open, and then the selection would mean other jobs.
 */
export function rowsOf<Item extends { jid: string; key: string }>(jobs: readonly Item[]): Row<Item>[] {
  const once = new Set<string>()
  const shared = new Set<string>()
  for (const { jid } of jobs) {
    if (once.has(jid)) shared.add(jid)
    once.add(jid)
  }
  const seen = new Map<string, number>()
  return jobs.map((job) => {
    const { jid, key } = job
    const digest = key.split('~')[1] ?? ''
    const base = digest !== '' && (jid === '' || shared.has(jid)) ? `${jid}#${digest}` : jid
    const n = (seen.get(base) ?? 0) + 1
    seen.set(base, n)
    return { id: base !== '' && n === 1 ? base : `${base}#${n}`, job }
  })
}

/** Returns the jid of a row. */
export function jidOf(id: string): string {
  return id.replace(/(#[0-9a-f]{16})?(#\d+)?$/, '')
}
