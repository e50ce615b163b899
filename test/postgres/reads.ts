import pg from 'pg'
import { vi } from 'vitest'
import type { AppClient } from '../conformance/factory.ts'

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Plan[]
}

/** Returns how many rows of a table the statements read that `work` sends. They run again, so `work` must only read. */
export async function rowsRead(client: AppClient, table: string, work: () => Promise<unknown>): Promise<number> {
  const query = vi.spyOn(pg.Client.prototype, 'query')
  let sent: { text: string; values: unknown[] }[]
  try {
    await work()
    sent = query.mock.calls.flatMap(([one]) => (typeof one === 'object' && one ? [one as never] : []))
  } finally {
    query.mockRestore()
  }
  let rows = 0
  for (const { text, values } of sent) rows += await rowsReadBy(client, table, text, values)
  return rows
}

/** Runs a statement, and returns how many rows of a table it reads. */
export async function rowsReadBy(
  client: AppClient,
  table: string,
  statement: string,
  values?: unknown[],
): Promise<number> {
  return rowsOf(await planOf(client, statement, values), table)
}

/** Runs a statement, and returns how many pages of the server's memory or disk it reads. */
export async function pagesRead(client: AppClient, statement: string): Promise<number> {
  const plan = await planOf(client, statement)
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

async function planOf(client: AppClient, statement: string, values: unknown[] = []): Promise<Plan> {
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`, values as string[])
  const [answer] = rows as unknown as [{ 'QUERY PLAN': [{ Plan: Plan }] }]
  return answer['QUERY PLAN'][0].Plan
}

function rowsOf(plan: Plan, table: string): number {
  const own = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)
  const inside = (plan.Plans ?? []).reduce((sum, one) => sum + rowsOf(one, table), 0)
  return inside + (plan['Relation Name'] === table ? own * plan['Actual Loops'] : 0)
}
