/** `hq.transaction`: stores jobs and rows of your own in one commit, or not at all. */

import { HighkiqError } from '../job/errors.ts'
import type { OrderedPushes, PushItem, SqlConnection, Store } from '../store/contract.ts'
import type { Client } from './client.ts'
import type { PreparedPush } from './push-target.ts'
import { Transaction } from './transaction.ts'

interface TransactionHost {
  client: Client
  store: () => Store
  now: () => number
}

/**
 * Runs `work` once, in a write transaction of its own, and stores what it pushes in the same commit.
 * @throws what `work` throws; NO_TRANSACTION; INVALID_OPTION when `work` is asynchronous. Then nothing is stored
 */
export function transact<T>(host: TransactionHost, work: (connection: SqlConnection) => T): Promise<T> {
  const around = host.client.transaction
  if (!around) return begin(host, work)
  return around.refuse(
    new HighkiqError('INVALID_OPTION', 'hq.transaction inside hq.transaction: write what belongs together in one'),
  )
}

async function begin<T>(host: TransactionHost, work: (connection: SqlConnection) => T): Promise<T> {
  const { client, now } = host
  const store = host.store()
  if (!store.jobs.transaction) {
    throw new HighkiqError(
      'NO_TRANSACTION',
      `${store.url} has no transactions that rows of your own could be part of: commit them first and push then, or keep the jobs in SQLite beside them`,
    )
  }
  if (typeof work !== 'function' || isAsync(work)) throw notSynchronous()
  const transaction = new Transaction()
  const testing = client.testing.current
  let finished: PreparedPush[] = []
  let result: T | undefined
  const run = async (connection: SqlConnection): Promise<(PushItem | OrderedPushes)[]> => {
    result = client.joining(transaction, () => work(connection))
    if (isThenable(result)) {
      // The work can't be stopped, and its result no longer matters.
      result.then(undefined, () => {})
      throw notSynchronous()
    }
    finished = await transaction.finished(now())
    if (testing) return []
    return [...finished.map(({ destination }) => destination), ...transaction.ordered.flatMap(({ batches }) => batches)]
  }
  try {
    await store.jobs.transaction(run, now())
  } catch (thrown) {
    transaction.rolledBack(thrown)
    throw thrown
  }
  transaction.committed()
  if (testing) {
    await testing.pushAll(finished)
    for (const plan of transaction.ordered) await plan.pushInto(testing)
  }
  return result as T
}

function isAsync(work: unknown): boolean {
  return Object.prototype.toString.call(work) === '[object AsyncFunction]'
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

function notSynchronous(): HighkiqError {
  return new HighkiqError(
    'INVALID_OPTION',
    'hq.transaction wants a function that does its work at once and answers no promise: nobody else can write while it runs. Fetch what it needs before, and neither await nor return the pushes in it',
  )
}
