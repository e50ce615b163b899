/** What belongs to owners now. */

import type { OwnedJob } from '../contract.ts'
import { readable } from './connection.ts'
import type { Leases } from './leases.ts'
import type { Server } from './server.ts'

/** Owners that are read together. */
const AT_ONCE = 10

/** A page ends behind an owner, who holds no more than it has slots. */
export async function taken(
  server: Server,
  leases: Leases,
  { after = '', limit }: { after?: string | undefined; limit: number },
): Promise<{ items: OwnedJob[]; next: string | null }> {
  const { keys, texts } = server
  const main = await server.ready()
  const nameOf = ({ queue, owner }: { queue: string; owner: string }) => `${queue}\n${owner}`
  const all = (await leases.all()).filter((one) => nameOf(one) > after).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const items: OwnedJob[] = []
  let done = 0
  while (done < all.length && items.length < limit) {
    const some = all.slice(done, done + AT_ONCE)
    const answers = (await readable(main, (pipeline) => {
      for (const { queue, owner } of some) {
        pipeline.hvalsBuffer(keys.working(queue, owner)).lrangeBuffer(keys.arriving(queue, owner), 0, -1)
      }
    })) as unknown as (Buffer[] | undefined)[]
    for (const [i, { queue, owner }] of some.entries()) {
      for (const bytes of [...(answers[i * 2] ?? []), ...(answers[i * 2 + 1] ?? [])]) {
        items.push({ owner, queue, text: texts.read(bytes) })
      }
    }
    done += some.length
  }
  const last = all[done - 1]
  return { items, next: done < all.length && last ? nameOf(last) : null }
}
