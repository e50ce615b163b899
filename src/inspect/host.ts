import type { Payload, Wire } from '../job/payload.ts'
import type { Effect, Store } from '../store/contract.ts'

/** What somebody does to a job that waits. */
export type Action =
  | { kind: 'deleted' }
  | { kind: 'killed' }
  /** Sent to its queue by hand. */
  | { kind: 'requeued' }
  /** The same, but client middleware stopped it on the way. */
  | { kind: 'filtered' }

/** What looking and acting need of the app. */
export interface InspectHost {
  store(): Store
  now(): number
  /** The dialect in which jobs are written. */
  wire(): Wire
  /** A job that leaves a set, through the client middleware. Null: stopped there. Undefined: the text is no job. */
  promote(text: string): Promise<{ text: string; queue: string } | null | undefined>
  /** What changes with the job, in the step that moves it. */
  effects(payload: Payload, deed: Action): Effect[] | undefined
  /** It was done to a job, which is over by it. Never throws. */
  over(payload: Payload, deed: Extract<Action, { kind: 'deleted' | 'killed' }>): Promise<void>
  /** A job will not run again. Never throws. */
  died(payload: Payload, error: unknown): Promise<void>
  /** What the dead set keeps. */
  limits(): { dead: number; deadSeconds: number }
}

/** Texts without any of these have no effects: a queue can be cleared of them without reading them. */
export const EFFECT_MEMBERS: readonly string[] = ['"hk_task"', '"hk_lock"']

/** A page of a list; `next` is the `after` of the page behind, null at the end. */
export interface Page<Item> {
  items: Item[]
  next: string | null
}

export interface PageOptions {
  after?: string | null
  /** Default 50. */
  limit?: number
}

export const PAGE = 50
