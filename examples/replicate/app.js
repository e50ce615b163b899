// Four producers push every change twice: as an ordinary job, and into an ordered queue. Then both copies are looked at.
import { fork } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

for (const file of ['jobs.db', 'ordered.db'])
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
const { PRODUCERS, PRODUCTS, stale, VERSIONS } = await import('./changes.js')
const { hq, jobsCopy, orderedCopy, SyncProduct } = await import('./jobs.js')

console.log(`${PRODUCTS} products, ${VERSIONS} versions of each, ${PRODUCERS} producers, in no order`)
const producers = Array.from({ length: PRODUCERS }, (_, n) => {
  const child = fork(fileURLToPath(new URL('producer.js', import.meta.url)), [String(n)])
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`producer ${n} ended with ${code}`))))
  })
})
// The worker was away for a while: there is something to catch up with.
await Promise.race(producers)
const worker = hq.worker({ concurrency: 40, orderedConcurrency: 8 })
await worker.start()
await Promise.all(producers)
while (await isBusy()) await sleep(100)

tell('ordinary jobs', jobsCopy)
tell('ordered queue', orderedCopy)
await hq.close()

async function isBusy() {
  const { length, busy } = await SyncProduct.stats()
  return length + busy > 0 || worker.busy > 0 || (await hq.queue('default').size()) > 0
}

function tell(name, copy) {
  const wrong = stale(copy.all())
  const example = wrong[0] ? `; ${wrong[0].id} is at version ${wrong[0].version} of ${VERSIONS}` : ''
  console.log(
    `${name}: ${wrong.length} of ${PRODUCTS} products are not up to date, after ${copy.writes} writes${example}`,
  )
  copy.close()
}
