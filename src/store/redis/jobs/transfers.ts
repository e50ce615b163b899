/** Transfers of jobs between stores. Each method is one script. */

import { isPriorityName, queueOfJob } from '../../../job/priority.ts'
import {
  type Destination,
  type Move,
  movingTasksOf,
  outcomeWith,
  type PageName,
  type PageOutcome,
  type PageTransferStore,
  type SetName,
  TRANSFER_PAGE,
  TRANSFER_PAGES_KEPT,
  type TransferItem,
  type TransferPage,
  type TransferSource,
} from '../../contract.ts'
import { lua } from '../lua.generated.ts'
import { readMovedId } from '../server/moved-ids.ts'
import { type Server, StorePart } from '../server/server.ts'
import { ITERATION_SECONDS } from './cancellations.ts'
import { scoreOf } from './job-sets.ts'
import type { PriorityQueues } from './priority-queues.ts'

/** The search for a job covers this many jobs on both sides of its place, or of large jobs about this many characters. */
const NEAR = 500
const NEAR_LENGTH = 5_000_000

export class Transfers extends StorePart implements PageTransferStore {
  readonly #priorities: PriorityQueues

  constructor(server: Server, priorities: PriorityQueues) {
    super(server)
    this.#priorities = priorities
  }

  async hold(transfer: string, target: string, from: TransferSource): Promise<TransferPage | null> {
    const { keys, texts } = this.server
    const isSet = 'set' in from
    const names = isSet ? [from.set] : await this.#priorities.current(from.queue)
    const jobs = isSet ? from.entries : from.texts.map((text) => ({ text, score: 0 }))
    const all = names.map((name) => (isSet ? keys.set(name as SetName) : keys.queue(name)))
    const length = jobs.reduce((sum, { text }) => sum + text.length, 1) / jobs.length
    const near = Math.min(NEAR, Math.ceil(NEAR_LENGTH / length))
    const [first, searched] = isSet ? [0, 0] : [from.offset - near, TRANSFER_PAGE + 2 * near]
    const args = [transfer, target, isSet ? 'zset' : 'list', first, searched, ...names, jobs.length]
    const isLimited = isSet && from.set.startsWith('limited:')
    for (const { text, score } of jobs) {
      args.push(texts.write(text) as string, score, isLimited ? queueOfJob(text) : '')
    }
    const held = [...this.#held, keys.limitedQueues]
    return this.#pageOf(await this.server.runForBytes(lua.transferHold, [...held, ...all], args))
  }

  async held(): Promise<TransferPage | null> {
    return this.#pageOf(await this.server.runForBytes(lua.transferHeld, this.#held, []))
  }

  async put(
    page: PageName,
    items: readonly TransferItem[],
    now: number,
    outcome: PageOutcome = outcomeWith(items),
  ): Promise<PageOutcome> {
    const { transfers, unique, cancelled, cancellationVersion, iteration } = this.keys
    const keys = [unique, transfers(page), cancelled, cancellationVersion]
    const put = () =>
      this.server.runCall(lua.transferPut, now, keys, items, (call) => {
        call.add(`${page.transfer}:${page.number}`, outcome, TRANSFER_PAGES_KEPT, ITERATION_SECONDS, items.length)
        for (const item of items) {
          const { cancelled: jid } = item
          call.add(jid === undefined ? 0 : call.key(iteration(jid)), jid ?? item.unique?.jid ?? '')
          call.claims(item)
          call.item(item, item.effects)
        }
      })
    // The page is dropped in its source as soon as this resolves.
    const known = await this.server.confirmedByReplicas(put)
    this.#moved(items)
    return known as PageOutcome
  }

  async endPage({ transfer, number }: PageName, moves: readonly Move[], now: number): Promise<boolean> {
    const tasks = movingTasksOf(moves)
    const keys = [...this.#held, this.keys.movingTasks]
    const ended = await this.server.runCall(lua.transferEnd, now, keys, moves, (call) => {
      call.add(transfer, number, tasks.length, ...tasks, moves.length)
      for (const { to, effects } of moves) call.item(to, effects)
    })
    this.#moved(moves.flatMap(({ to }) => to ?? []))
    return ended === 1
  }

  get #held(): string[] {
    return [this.keys.transferPage, this.keys.transferJobs]
  }

  #moved(jobs: readonly Destination[]): void {
    this.#priorities.pushed(jobs.flatMap((job) => (job.to === 'queue' && isPriorityName(job.queue) ? [job.queue] : [])))
    if (jobs.some(({ to }) => to === 'schedule' || to === 'retry')) this.server.due.notify()
  }

  #pageOf(answer: readonly Buffer[]): TransferPage | null {
    const [transfer, number, target, ...flat] = answer
    if (!transfer) return null
    const jobs: Destination[] = []
    let ordered: TransferPage['ordered']
    for (let i = 0; i < flat.length; i += 3) {
      const [to, about] = [String(flat[i]), String(flat[i + 1])]
      const text = this.server.texts.read(flat[i + 2] as Buffer)
      if (to === 'id' || to === 'dead-id') {
        ordered ??= { queue: about, ids: [] }
        ordered.ids.push(readMovedId(text, to === 'dead-id'))
      } else if (to === 'queue') jobs.push({ to, queue: about, text, end: 'front' })
      else jobs.push({ to: to as SetName, text, score: scoreOf(about) })
    }
    const page = { transfer: String(transfer), number: Number(number), target: String(target), jobs }
    return ordered ? { ...page, ordered } : page
  }
}
