// Ends a process or its threads while they are inside SQLite: ending.js MODE FOLDER.
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'

const [, , how, folder] = process.argv
const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger }

/** Writes enough for the thread that copies the log to start, and to have work. */
async function write(hq, bytes) {
  const text = JSON.stringify({ class: 'J', args: ['x'.repeat(100_000)], jid: 'a', queue: 'default' })
  const items = Array.from({ length: bytes / 100_000 }, () => ({ to: 'queue', queue: 'default', text, end: 'back' }))
  await hq.store.jobs.push(items, Date.now())
}

if (how === 'close') {
  for (let n = 0; n < 20; n++) {
    const hq = new Highkiq({ url: `sqlite:${folder}/${n}.db?synchronous=normal`, logger })
    await write(hq, 20e6)
    await sleep(n * 5)
    await hq.close()
  }
} else if (how === 'exit') {
  const hq = new Highkiq({ url: `sqlite:${folder}/jobs.db?synchronous=normal`, logger })
  await write(hq, 20e6)
  setTimeout(() => process.exit(7), Math.random() * 100)
  for (;;) await write(hq, 5e6)
} else {
  process.env.HIGHKIQ_TEST_URL = `sqlite:${folder}/jobs.db?synchronous=normal`
  const { hq } = await import('./ending-jobs.js')
  const worker = hq.worker({ concurrency: 2, queues: ['default'] })
  await worker.start()
  for (let n = 0; n < 10; n++) await hq.push({ class: 'Pushes', args: [] })
  while ((await hq.stats()).failed < 10) await sleep(20)
  await worker.stop()
  await hq.close()
}
console.log('ended in order')
