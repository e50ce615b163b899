// One process of `npm run chaos` that pushes chunks of jobs: pusher.js URL FOLDER CHUNKS [soak]. It gets each chunk as a message, and answers
// with the number of its first job when all are pushed. Its journal says first what it pushes, and then what became of it.
import { setTimeout as sleep } from 'node:timers/promises'
import { clockOf, harnessApp, openJournal, watchHeap } from './app.js'
import { BATCH_SIZE, groupOf, kindOf, VERSIONS } from './workloads.js'

const SINGLES = 10
const AGAIN_MS = 30
const DELAY_SECONDS = 0.3

const [url, folder, , mode] = process.argv.slice(2)
const isSoak = mode === 'soak'
const write = openJournal(folder, 'pusher')
const app = harnessApp(url, write, { clock: clockOf(folder), isSoak })
const { hq, Plain, Row, orderedQueues, Unique, Limited, Member, callbacks, keeps } = app
hq.onError(() => {})

const numbersOf = (from, count) => Array.from({ length: count }, (_, i) => from + i)
const jidOf = (n) => `c0ffee${n.toString(16).padStart(18, '0')}`

let repeatable = 0

/**
 * Resolves with whether the store has it; without `mayRepeat` also with false: nobody knows. With `mayRepeat` it drops every
 * fourth answer, as if it was lost. `onRepeat` is called before a push is repeated that may have stored something.
 */
async function untilStored(push, mayRepeat, onRepeat = () => {}) {
  let dropsAnswer = mayRepeat && ++repeatable % 4 === 0
  for (;;) {
    let maybeStored = true
    try {
      await push()
      if (!dropsAnswer) return true
      dropsAnswer = false
    } catch (thrown) {
      if (!['PUSH_FAILED', 'STORE_UNREACHABLE', 'STORE_TIMEOUT', 'STORE_FULL'].includes(thrown.code)) throw thrown
      if (!mayRepeat && (thrown.maybePushed || thrown.details?.task)) return false
      maybeStored = thrown.maybePushed !== false
    }
    await sleep(AGAIN_MS)
    if (maybeStored) onRepeat()
  }
}

async function pushPart(from, count, push, mayRepeat) {
  const writePush = () => write('push', from, count)
  writePush()
  const isStored = await untilStored(push, mayRepeat, writePush)
  write(isStored ? 'stored' : 'unsure', from, count)
}

/**
 * Pushes in six ways, chunk by chunk: one by one or in bulk; and without an id, with an id that allows to push again, or with
 * such an id and no lock.
 */
async function pushJobs({ workload, from, count, way }) {
  const isIdempotent = way >= 2
  const lock = way >= 4 ? { unique: false } : {}
  const Job = workload === 'limits' ? Limited : Plain
  const argsOf = (n) => (workload === 'limits' ? [groupOf(workload, n), n] : [n, kindOf(workload, n)])
  const wait = workload === 'scheduled' ? { wait: DELAY_SECONDS } : {}
  if (way % 2 === 1 && workload !== 'scheduled') {
    const numbers = numbersOf(from, count)
    const bulk = () =>
      isIdempotent
        ? Job.set({ ...lock, idempotent: true }).performBulk(numbers.map(argsOf), { jid: numbers.map(jidOf) })
        : Job.performBulk(numbers.map(argsOf))
    return pushPart(from, count, bulk, isIdempotent)
  }
  for (let at = from; at < from + count; at += SINGLES) {
    const some = numbersOf(at, Math.min(SINGLES, from + count - at))
    const push = (n) =>
      Job.set({ ...wait, ...(isIdempotent ? { ...lock, jid: jidOf(n), idempotent: true } : {}) }).performAsync(
        ...argsOf(n),
      )
    await Promise.all(some.map((n) => pushPart(n, 1, () => push(n), isIdempotent)))
  }
}

/** A chunk is a task. */
async function pushTask({ from, count }) {
  const rows = numbersOf(from, count).map((n) => [n, kindOf('tracked', n)])
  await pushPart(from, count, async () => {
    const { id } = await hq.tasks.create(Row, rows, keeps.task)
    write('task', id, from, count)
  })
}

/** The versions of each id come one after the other. The number of a job grows with its version. */
async function pushOrdered({ id, size, from, count, way }) {
  const queue = orderedQueues[way % 2]
  const ids = Math.ceil(size / VERSIONS)
  for (let at = from; at < from + count; at += ids) {
    const numbers = numbersOf(at, Math.min(ids, from + count - at))
    const jobs = numbers.map((n) => ({ id: `${id}-${n - at}`, payload: { n }, score: n }))
    await pushPart(at, numbers.length, () => queue.performAsync(jobs), true)
  }
}

/** A push that another job's lock refuses answers the jid of that job. */
async function pushUnique({ from, count }) {
  for (let at = from; at < from + count; at += SINGLES) {
    const numbers = numbersOf(at, Math.min(SINGLES, from + count - at))
    await Promise.all(
      numbers.map(async (n) => {
        let jid
        const push = async () => {
          jid = await Unique.set({ jid: jidOf(n), idempotent: true }).performAsync(groupOf('unique', n), n)
        }
        const writePush = () => write('push', n, 1)
        writePush()
        await untilStored(push, true, writePush)
        write(jid === jidOf(n) ? 'stored' : 'refused', n, 1)
      }),
    )
  }
}

async function pushInBatches({ from, count }, push) {
  for (let at = from; at < from + count; at += BATCH_SIZE) {
    const size = Math.min(BATCH_SIZE, from + count - at)
    await pushPart(at, size, () => push(numbersOf(at, size)))
  }
}

const pushBatches = (chunk) =>
  pushInBatches(chunk, async (numbers) => {
    const bid = await hq.batch({ ...callbacks, ...keeps.batch }, () =>
      Plain.performBulk(numbers.map((n) => [n, kindOf('batches', n)])),
    )
    write('batch', bid, numbers[0], numbers.length)
  })

/** The children of the root have children of their own, one each. */
const pushFlows = (chunk) =>
  pushInBatches(chunk, async ([root, ...rest]) => {
    const nodeOf = (n, children = []) => ({ job: Member, args: [groupOf('flows', n), n], children })
    const inner = rest.filter((n) => n % 2 === 1)
    const children = inner.map((n) => nodeOf(n, rest.includes(n + 1) ? [nodeOf(n + 1)] : []))
    await hq.flow(nodeOf(root, children), keeps.batch)
  })

const WAYS = {
  ...{ plain: pushJobs, scheduled: pushJobs, retrying: pushJobs, limits: pushJobs },
  ...{ tracked: pushTask, ordered: pushOrdered, unique: pushUnique, batches: pushBatches, flows: pushFlows },
}

process.on('message', async (chunk) => {
  await WAYS[chunk.workload](chunk)
  process.send(chunk.id)
})
process.once('SIGTERM', async () => {
  await hq.close()
  process.exit(0)
})
process.once('disconnect', () => process.exit(0))
// Nothing is loaded or connected later, when this process may open no files.
await untilStored(() => hq.stats(), true)
if (isSoak) watchHeap(write)
process.stdout.write('ready\n')
