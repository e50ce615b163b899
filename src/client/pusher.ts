/** What pushes jobs: the client, and pushers with further middleware. */

import { Chain, type Middleware } from '../job/chain.ts'
import type { Payload } from '../job/payload.ts'
import type { Store } from '../store/contract.ts'
import type { BulkOptions, Rows } from './bulk.ts'
import type { NamedPushOptions, PushRequest } from './request.ts'

/** A bulk push: jobs of one class that share all options. */
export interface BulkRequest extends Omit<NamedPushOptions, 'jid'>, BulkOptions {
  class: string
  args: Rows
  /** Any other members are copied into the payloads unchanged. */
  [field: string]: unknown
}

/** Pushes jobs: a client, or one with further middleware. */
export interface Pusher {
  /** @returns the job's id; null when client middleware stopped it */
  push(request: PushRequest): Promise<string | null>
  /** @returns an id for each, in their order, null where client middleware stopped one */
  pushBulk(request: BulkRequest): Promise<(string | null)[]>
}

export type ClientMiddleware = Middleware<Payload, Payload | null>

/** Returns the payload to push; a falsy value stops the push. */
export class ClientChain extends Chain<Payload, Payload | null> {
  readonly #with: (links: readonly ClientMiddleware[]) => Pusher

  constructor(pusherWith: (links: readonly ClientMiddleware[]) => Pusher) {
    super()
    this.#with = pusherWith
  }

  /** Returns a pusher with further middleware inside this chain. */
  with(...links: ClientMiddleware[]): Pusher {
    return this.#with(links)
  }
}

/** Where to push: a store's URL, another app, or what `hq.via()` and `hq.client.with()` return. */
export type Target = string | { readonly store: Store } | Pusher
