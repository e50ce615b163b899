/** Jobs that leave a job set for their queue. */

import { checkReadable } from '../job/args.ts'
import { stringifyJson } from '../job/json.ts'
import { editPayload, type Payload, readPayload, timeOf, type Wire } from '../job/payload.ts'
import type { JobWriter } from './job-writer.ts'

/** The part of a client that a promotion needs. */
interface PromotingClient {
  readonly chain: { readonly size: number }
  readonly wire: Wire
  readonly writer: JobWriter
  /** Runs the client middleware. */
  pass(payload: Payload): Promise<Payload | null>
}

/**
 * Passes a job that comes out of a set through the client middleware once more, as at its first push.
 * @returns its new text and queue; null when middleware stopped it; undefined when the text is not a job
 */
export async function promoted(
  client: PromotingClient,
  text: string,
  { now, within }: { now: () => number; within: (payload: Payload, work: () => unknown) => unknown },
): Promise<{ text: string; queue: string } | null | undefined> {
  const before = readPayload(text)
  if (!before) return undefined
  const enqueued_at = timeOf(now(), client.wire)
  const queue = queueOf(before)
  if (client.chain.size === 0) return { text: editPayload(text, { enqueued_at, at: undefined }, client.wire), queue }
  const given = new Map(Object.entries(before).map(([field, value]) => [field, stringifyJson(value)]))
  const last = before.encrypt ? stringifyJson(before.args.at(-1)) : undefined
  const passing = within(before, () => client.pass({ ...before, queue }))
  const passed = (await passing) as Payload | null
  if (!passed) return null
  client.writer.check(passed)
  // Middleware may have replaced the encrypted argument. Otherwise it stays, also if another program encrypted it.
  const after = passed.encrypt && stringifyJson(passed.args.at(-1)) !== last ? client.writer.sealed(passed) : passed
  const ours: Partial<Payload> = { enqueued_at, at: undefined }
  // Without a prototype, so that a field may have any name.
  const changes: Partial<Payload> = Object.assign(Object.create(null), ours)
  for (const [field, value] of Object.entries(after)) {
    if (given.get(field) !== stringifyJson(value)) changes[field] = value
  }
  for (const field of given.keys()) if (!Object.hasOwn(after, field)) changes[field] = undefined
  // Middleware can't change these.
  Object.assign(changes, ours)
  const edited = editPayload(text, changes, client.wire)
  checkReadable(edited, before.class)
  return { text: edited, queue: after.queue ?? queue }
}

/** Returns the queue that a job names; `default` without a name, or for one with a NUL, which no SQL store can hold. */
function queueOf({ queue }: Payload): string {
  return typeof queue === 'string' && queue !== '' && !queue.includes('\0') ? queue : 'default'
}
