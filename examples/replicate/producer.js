// One of several processes that know of changes: `node producer.js 0`.
import { changesOf } from './changes.js'
import { ApplyChange, hq, SyncProduct } from './jobs.js'

const changes = changesOf(Number(process.argv[2]))
for (let from = 0; from < changes.length; from += 10) {
  const some = changes.slice(from, from + 10)
  await ApplyChange.performBulk(some.map((change) => [change]))
  // The version says what comes before what, not the time at which a process read it.
  await SyncProduct.performAsync(some.map((change) => ({ id: change.id, payload: change, score: change.version })))
}
await hq.close()
