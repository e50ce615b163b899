/** Settles the items of a worker's step, or of a step of an ordered queue, one by one, after the whole step has failed. */

import { doneInPart, HighkiqError, messageOf } from '../../job/errors.ts'
import type {
  OrderedSettleAndFetch,
  OrderedSettleAndFetchAnswer,
  SettleAndFetch,
  SettleAndFetchAnswer,
} from '../contract.ts'

/**
 * Gives each item of a step a transaction of its own, by `run`, so that only the items that can't be applied fail.
 *
 * A HighkiqError is about the store and so about all items; any other error is about its item. Once a settlement is stored,
 * nothing is thrown any more: the caller would send it again, and learn that its ticket is gone. The item of the error and those
 * behind it answer `unknown` instead.
 * @throws a HighkiqError that came before a settlement was stored
 */
export async function settleOneByOne(
  { now, started, settlements, fetch }: SettleAndFetch,
  run: (part: SettleAndFetch) => Promise<SettleAndFetchAnswer>,
): Promise<SettleAndFetchAnswer> {
  const answer: SettleAndFetchAnswer = { fenced: false, started: [], settled: [], fetched: [], cancellations: 0 }
  const problems = new Set<string>()
  let isUsable = true
  const alone = async (part: Partial<SettleAndFetch>) => {
    if (!isUsable) return undefined
    const isStored = answer.settled.includes('ok')
    try {
      const one = await run({ now, started: [], settlements: [], fetch: { queues: [], n: 0 }, ...part })
      // A lease that was lost in the middle fences only the items that are left.
      if (!isStored) answer.fenced ||= one.fenced
      answer.cancellations = one.cancellations
      return one
    } catch (thrown) {
      isUsable = !(thrown instanceof HighkiqError)
      if (!isUsable && !isStored) throw thrown
      problems.add(messageOf(thrown))
      return undefined
    }
  }
  for (const one of started) answer.started.push((await alone({ started: [one] }))?.started[0] ?? 'ok')
  for (const one of settlements) {
    const settled = (await alone({ settlements: [one] }))?.settled[0]
    answer.settled.push(settled ?? (isUsable ? 'error' : 'unknown'))
  }
  answer.fetched = (await alone({ fetch }))?.fetched ?? []
  if (problems.size > 0) answer.problem = [...problems].join('\n')
  return answer
}

/**
 * Gives each settlement of an ordered queue a transaction of its own, as `settleOneByOne` does, and then fetches. After a call
 * that failed, the caller expects that settlements may be stored. So a HighkiqError is thrown here, also in the middle.
 */
export async function settleOrderedOneByOne(
  request: OrderedSettleAndFetch,
  run: (part: OrderedSettleAndFetch) => Promise<OrderedSettleAndFetchAnswer>,
): Promise<OrderedSettleAndFetchAnswer> {
  const settled: OrderedSettleAndFetchAnswer['settled'] = []
  let problem: string | undefined
  for (const settlement of request.settlements) {
    try {
      const one = await run({ ...request, settlements: [settlement], fetch: [] })
      settled.push(one.settled[0] ?? 'error')
    } catch (thrown) {
      // The earlier steps are written, so the error must not claim that nothing is.
      if (thrown instanceof HighkiqError) throw settled.includes('ok') ? doneInPart(thrown) : thrown
      settled.push('error')
      problem = `${settlement.id}: ${messageOf(thrown)}`
    }
  }
  const answer = await run({ ...request, settlements: [] }).catch((thrown) => {
    throw doneInPart(thrown)
  })
  return { ...answer, settled, ...(problem === undefined ? {} : { problem }) }
}
