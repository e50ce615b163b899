// The same work twice: as an ordinary job, and as an ordered queue.
import { Highkiq } from 'highkiq'
import { Copy } from './copy.js'

export const hq = new Highkiq()

export const jobsCopy = new Copy('jobs.db')
export const orderedCopy = new Copy('ordered.db')

// Two workers may have two versions of one product in hand: both look, both find theirs to be newer, and the slower one
// writes last, whichever it is.
export const ApplyChange = hq.job('ApplyChange', async (_ctx, change) => {
  if ((await jobsCopy.versionOf(change.id)) < change.version) await jobsCopy.write(change)
})

// No two calls ever have the same product, and what has piled up for it comes at once, oldest first: the last one will do.
export const SyncProduct = hq.ordered('SyncProduct', { shards: 8, batchSize: 10 }, async (_ctx, batch) => {
  await Promise.all(
    [...batch].map(async ([id, changes]) => {
      const last = changes.at(-1)
      if ((await orderedCopy.versionOf(id)) < last.version) await orderedCopy.write(last)
    }),
  )
})
