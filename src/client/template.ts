/** The text of a job around its arguments and its id. The other jobs of a bulk at the same time have the same text. */

import type { Payload } from '../job/payload.ts'
import type { PushItem } from '../store/contract.ts'

/** The template of pushes that differ only in their arguments, and the time it is valid for. */
export interface TemplateCache {
  /** The time of the last push, in milliseconds. */
  now?: number
  template?: Template | undefined
}

export interface Template {
  payload: Payload
  queue: string
  /** The text before the arguments, between them and the id, and after the id. */
  head: string
  middle: string
  tail: string
}

/** Returns undefined when the members of the text have another order, or the job is not a plain one of a queue. */
export function templateOf(payload: Payload, destination: PushItem, args: string): Template | undefined {
  const { class: name, queue, jid } = payload
  if (destination.to !== 'queue' || destination.once !== undefined || destination.unique) return undefined
  if (payload.hk_task !== undefined || destination.maxLength !== undefined || destination.limit) return undefined
  const { text } = destination
  const head = `{"class":${JSON.stringify(name)},"args":`
  const middle = `,"queue":${JSON.stringify(queue)},"jid":"`
  const start = `${head}${args}${middle}${jid}`
  return text.startsWith(start) ? { payload, queue, head, middle, tail: text.slice(start.length) } : undefined
}
