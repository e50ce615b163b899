/** A server with something in each of its lists, and the requests that its OpenAPI document describes. */

import { serve } from 'highkiq/http'
import { bench, until } from '../engine/bench.ts'
import { apiDocument } from '../http/api.ts'

/** A value that `redact` hides. It may be in no answer. */
export const SECRET = 'hunter2-swordfish'
const TOKEN = 'a long secret'
export const LOGIN = { authorization: `Bearer ${TOKEN}` }
export const JID = 'b4a577edbccf1d805744efa9'

export type World = Awaited<ReturnType<typeof world>>

/** Starts a server on a store of its own. */
export async function world() {
  const t = bench()
  const { hq } = t
  const Row = hq.job('Row', { retry: false }, async (_ctx, row: { sku: string }) => {
    if (row.sku === 'b') throw new Error(`rejected ${row.sku}`)
  })
  hq.job('HardJob', { unique: true }, async () => {})
  const Sync = hq.ordered('Sync', { shards: 2 }, async () => {})
  hq.cron(
    'nightly',
    '30 3 * * *',
    hq.job('Nightly', async () => {}),
  )
  const args = [{ user: 'ann', password: SECRET }]
  const text = (n: number) =>
    JSON.stringify({
      ...ABOUT,
      jid: n === 0 ? JID : n.toString(16).padStart(24, '0'),
      args,
      hk_result: { password: SECRET },
      hk_messages: [{ at: 1, text: JSON.stringify({ password: SECRET }) }],
    })
  const task = await hq.tasks.import(Row, Buffer.from('sku,password\na,x\nb,x\nc,x\n'), {
    name: 'rows.csv',
    meta: { user: '7' },
  })
  const worker = await t.work({ queues: ['default'] })
  await until(async () => (await task.status())?.state === 'done')
  await worker.stop()
  await hq.store.jobs.push(
    (['retry', 'schedule', 'dead', 'finished'] as const).flatMap((to) =>
      [0, 1, 2].map((n) => ({ to, text: text(n), score: 4e9 + n })),
    ),
    Date.now(),
  )
  await hq.pushBulk({ class: 'HardJob', args: [[1], [2], [3]], queue: 'low' })
  await Sync.performAsync([1, 2, 3].map((id) => ({ id, payload: { password: SECRET }, performIn: 4e6 })))
  const bid = await hq.batch({ description: 'two' }, async () => {
    await hq.push({ class: 'HardJob', args: [4], queue: 'low' })
    await hq.push({ class: 'HardJob', args: [5], queue: 'low' })
  })
  const { url, close } = await serve(hq, { port: 0, auth: { bearer: TOKEN }, redact: ['password'] })
  const get = async (path: string) =>
    (await (await fetch(`${url}/api/v1${path}`, { headers: LOGIN })).json()) as Record<string, string>
  const tokens = {
    task: (await get(`/tasks/${task.id}/link`)).token as string,
    read: (await get(`/tasks/${task.id}/link?rights=read`)).token as string,
    list: (await get('/tasks/link?meta.user=7')).token as string,
  }
  return { t, url, get, task: task.id, bid, tokens, close: () => close().then(() => hq.close()) }
}

const ABOUT = {
  class: 'HardJob',
  queue: 'low',
  created_at: 1_779_019_200_000,
  error_class: 'Error',
  error_message: `no {"password":"${SECRET}"}`,
  failed_at: 1_779_019_200_000,
  retry_count: 1,
  tags: ['a'],
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  example?: string
  schema: { type?: string; enum?: string[]; minimum?: number; maximum?: number; examples?: string[]; pattern?: string }
}

export interface Operation {
  method: string
  path: string
  parameters: Parameter[]
  /** The example of each media type of its body; undefined where the document has none. */
  bodies: [type: string, example: unknown][]
}

/** All operations of the API. */
export async function operations(): Promise<Operation[]> {
  const { document } = await apiDocument()
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, about]) => {
      const { parameters = [], requestBody } = about as unknown as {
        parameters?: Parameter[]
        requestBody?: { content: Record<string, { example?: unknown }> }
      }
      const bodies = Object.entries(requestBody?.content ?? {}).map(
        ([type, { example }]) => [type, example] as [string, unknown],
      )
      return { method: method.toUpperCase(), path, parameters, bodies }
    }),
  )
}
