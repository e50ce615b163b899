import type { Payload, Wire } from '../job/payload.ts'
import type { Effect, Store } from '../store/contract.ts'

/** An action of a person on a waiting job. */
export type Action =
  | { kind: 'deleted' }
  | { kind: 'killed' }
  /** Sent to its queue by hand. */
  | { kind: 'requeued' }
  /** Sent to its queue by hand, but stopped by client middleware. */
  | { kind: 'filtered' }

/** The part of the app that the inspection API uses. */
export interface InspectHost {
  store(): Store
  now(): number
  /** The dialect in which jobs are written. */
  wire(): Wire
  /**
   * Passes a job that leaves a set through the client middleware. Null: stopped there. Undefined: the text is not a
   * job.
   */
  promote(text: string): Promise<{ text: string; queue: string } | null | undefined>
  /** Returns the effects to store in the step that moves the job. */
  effects(payload: Payload, action: Action): Effect[] | undefined
  /** Called when an action has ended a job. Never throws. */
  over(payload: Payload, action: Extract<Action, { kind: 'deleted' | 'killed' }>): Promise<void>
  /** Called when a job will not run again. Never throws. */
  died(payload: Payload, error: unknown): Promise<void>
  /** Returns the limits of the dead set. */
  limits(): { dead: number; deadSeconds: number }
}

/** A text without any of these members has no effects, so a queue can be cleared of it without reading it. */
export const EFFECT_MEMBERS: readonly string[] = ['"hk_task"', '"hk_lock"']

/** One page of a list. Pass `next` as `after` to get the next page; it is null at the end. */
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
