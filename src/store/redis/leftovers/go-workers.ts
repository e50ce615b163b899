/** Jobs that processes of go-workers had fetched: lists `queue:NAME:PROCESS:inprogress`, the newest job at the head. */

import type { GoList, LeftoverStore } from '../../contract.ts'
import { escapePattern } from '../server/keys.ts'
import { scanKeys } from '../server/leftovers.ts'
import { StorePart } from '../server/server.ts'

const SUFFIX = ':inprogress'
/** How many jobs are moved by commands that are sent together. */
const TOGETHER = 100

export class GoWorkers extends StorePart implements Partial<LeftoverStore> {
  async goLists(): Promise<GoList[]> {
    const { keys, server } = this
    const head = keys.queue('')
    const known = new Set(await server.call((client) => client.smembers(keys.queues)))
    const lists: GoList[] = []
    for (const key of await scanKeys((work) => server.call(work), `${escapePattern(head)}*${SUFFIX}`)) {
      // A queue may have such a name.
      if (known.has(key.slice(head.length))) continue
      const named = nameOf(key.slice(head.length, -SUFFIX.length), known)
      const size = await server.call((client) => client.llen(key))
      if (named && size > 0) lists.push({ ...named, size })
    }
    return lists
  }

  async goClients(): Promise<string[] | null> {
    const { db = 0 } = this.server.options.redis
    const list = await this.server.call((client) => client.client('LIST')).catch(() => null)
    if (list === null) return null
    return String(list)
      .split('\n')
      .filter((client) => / cmd=brpoplpush /i.test(client) && client.includes(` db=${db} `))
      .map((client) => / addr=(\S+)/.exec(client)?.[1] ?? 'a client')
  }

  async requeueGoList({ queue, process }: GoList): Promise<number> {
    const { keys, server } = this
    const to = keys.queue(queue)
    const from = `${to}:${process}${SUFFIX}`
    await server.call((client) => client.sadd(keys.queues, queue))
    for (let moved = 0; ; ) {
      // The newest job goes first, so that the oldest one is the next of its queue.
      const answers = await server.all((pipeline) => {
        for (let i = 0; i < TOGETHER; i++) pipeline.lmove(from, to, 'LEFT', 'RIGHT')
      })
      const some = answers.filter((job) => job !== null).length
      moved += some
      if (some < TOGETHER) return moved
    }
  }
}

/**
 * Splits `NAME:PROCESS`. Both may have colons, so the longest name of a known queue counts; without one, the id of the
 * process has no colon.
 */
function nameOf(text: string, known: ReadonlySet<string>): Omit<GoList, 'size'> | undefined {
  const splits = [...text.matchAll(/:/g)]
    .map(({ index }) => ({ queue: text.slice(0, index), process: text.slice(index + 1) }))
    .reverse()
  return splits.find(({ queue }) => known.has(queue)) ?? splits[0]
}
