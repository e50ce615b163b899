/** Jobs on their way to queues and sets in one operation. They are stored together, with one statement for each queue or set. */

import type { Destination, Entry, SetName } from '../../contract.ts'
import { Tables } from '../server/database.ts'
import { JobSets } from './job-sets.ts'
import { Queues } from './queues.ts'

export class Arrivals extends Tables {
  readonly #back = new Map<string, string[]>()
  readonly #front = new Map<string, string[]>()
  readonly #sets = new Map<SetName, Entry[]>()

  add(to: Destination): void {
    if (to.to !== 'queue') append(this.#sets, to.to, { score: to.score, text: to.text })
    else append(to.end === 'front' ? this.#front : this.#back, to.queue, to.text)
  }

  /** Stores the jobs. Call it before a read of queues or sets in the same transaction. */
  async store(): Promise<void> {
    const queues = this.db.get(Queues)
    for (const [queue, texts] of drain(this.#back)) await queues.pushBack(queue, texts)
    for (const [queue, texts] of drain(this.#front)) await queues.pushFront(queue, texts)
    for (const [set, entries] of drain(this.#sets)) await this.db.get(JobSets).add(set, entries)
  }
}

function append<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key)
  if (list) list.push(item)
  else lists.set(key, [item])
}

function drain<Key, Item>(lists: Map<Key, Item[]>): [Key, Item[]][] {
  const drained = [...lists]
  lists.clear()
  return drained
}
