/** Errors of one shard, with which the others go on. */

import { HighkiqError, hasCode, isUnreachable } from '../../job/errors.ts'

/** The store at a position is another shard, so the app has the wrong shards: nothing goes on with this error. */
export class WrongShardError extends HighkiqError {
  constructor(message: string) {
    super('STORE_UNUSABLE', message)
  }
}

/** Whether an error says that a shard can't be reached, is full, or refuses what it is asked for. */
export function isShardFailure(thrown: unknown): boolean {
  if (isUnreachable(thrown) || hasCode(thrown, 'STORE_FULL')) return true
  return hasCode(thrown, 'STORE_UNUSABLE') && !(thrown instanceof WrongShardError)
}
