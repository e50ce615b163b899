import type { Client } from '../client/client.ts'
import type { Job } from '../client/job.ts'
import type { Callback } from '../store/contract.ts'
import { templateOf } from './rows.ts'

/** The job that a task pushes by itself, through the client middleware now; null when that stopped it. */
export async function callbackOf(
  client: Client,
  job: Job<[task: string, run: number]>,
  task: string,
): Promise<Callback | null> {
  const payload = await client.pass(client.normalise({ ...job.request([task, 1]), track: false }))
  return payload && { queue: payload.queue, template: templateOf(client, payload) }
}
