import { writeSync } from 'node:fs'
import { openStore } from '#dist/store/open.js'
import { chance } from '../chance.js'
import { CLOCK, change, idOf, later, queueOf, TASK } from './stories.js'

/**
 * A process that is killed while it works on a store: `node victim.js URL SCRIPT K SEED`. (Plain JavaScript, for
 * it is started often.)
 *
 * It writes each call to its standard output before and after it, and kills itself after call K.
 */
const [url = '', script = 'life', k = '0', seed = '1'] = process.argv.slice(2)
const store = openStore(url)
const random = chance(Number(seed))
const dice = (n) => Math.floor(random() * n)

let calls = 0
let pushed = 0
let added = 0
let owners = 0
let score = 0
let owner = ''
const held = new Map()

await play(script)

async function play(name) {
  if (name === 'push-one') return push(1)
  await call({ what: 'createTask' }, () =>
    store.tasks.create({
      ...TASK,
      name: 'rows',
      job: 'Row',
      template: '{"class":"Row","ended":0}',
      keepArgs: 'rejected',
      meta: '{}',
      createdAt: CLOCK,
    }),
  )
  await push(8)
  await add(7)
  owner = await join()
  if (name === 'churn') return churn()
  await settleAndFetch(owner, 4)
  await settleAndFetch(owner, 5)
  await add(4)
  await settleAndFetch(owner, 4)
  await promote()
  await putOff(TASK.queue)
  await rescue()
  await call({ what: 'endAdding' }, () => store.tasks.endAdding(TASK.id, TASK.producer, CLOCK))
  await settleAndFetch(owner, 6)
  await push(3)
  await settleAndFetch(owner, 0)
  throw new Error(`the course has only ${calls} calls`)
}

async function churn() {
  const steps = [
    () => push(3),
    () => settleAndFetch(owner, 5),
    () => settleAndFetch(owner, 3),
    promote,
    () => putOff(dice(2) ? 'q' : TASK.queue),
    () => add(2),
    rescue,
  ]
  for (;;) await steps[dice(steps.length)]?.()
}

/** Reports a call, makes it, reports its end, and kills the process after the last call. */
async function call(does, perform) {
  calls++
  say({ at: 'intend', call: calls, does })
  const answer = await perform()
  say({ at: 'done', call: calls })
  if (calls === Number(k)) {
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => setInterval(() => {}, 1000))
  }
  return answer
}

function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

// ------------------------------------------------------------------------------------------------- calls

async function push(count) {
  const ids = Array.from({ length: count }, () => `${process.pid}/${++pushed}`)
  const items = ids.map((id, i) =>
    i === 2
      ? { to: 'retry', text: JSON.stringify({ id }), score: ++score }
      : { to: 'queue', queue: 'q', text: JSON.stringify({ id }), end: 'back' },
  )
  await call({ what: 'push', pushes: ids }, () => store.jobs.push(items, CLOCK))
}

async function add(count) {
  const rows = Array.from({ length: count }, (_, i) => ({ args: `[${added + i}]` }))
  await call({ what: 'addRows', rows: count }, () => store.tasks.addRows(TASK.id, TASK.producer, added, rows, CLOCK))
  added += count
}

async function join() {
  const name = `victim:${process.pid}:${++owners}`
  const about = { queues: ['q', TASK.queue], seconds: 60, host: 'gallows' }
  if (!(await call({ what: 'join' }, () => store.workers.join(name, about)))) throw new Error('could not join')
  held.set(name, [])
  return name
}

/** Settles all fetched jobs, reports the starts of those fetched last, and fetches more. */
async function settleAndFetch(who, n) {
  const mine = held.get(who) ?? []
  const keep = mine.filter(() => dice(5) === 0)
  const ending = mine.filter((taken) => !keep.includes(taken))
  const started = mine.map(({ queue, ticket, text }) => ({
    queue,
    ticket,
    effects: change(text, 'working', 'keep', 1),
  }))
  const fates = ending.map(({ queue }) => {
    const done = queue === 'q' ? 'finished' : 'done'
    return ['done', done, 'retry', 'dead', 'front'][dice(5)] ?? 'done'
  })
  const settlements = ending.map((taken, i) => settlement(taken, fates[i] ?? 'done'))
  const settles = ending.map(({ text }, i) => ({ id: idOf(text), fate: fates[i] ?? 'done' }))
  const queues = dice(2) ? ['q', TASK.queue] : [TASK.queue, 'q']
  const answer = await call({ what: 'settleAndFetch', settles }, () =>
    store.workers.settleAndFetch(who, { now: CLOCK, started, settlements, fetch: { queues, n } }),
  )
  if (answer.fenced || answer.settled.some((one) => one !== 'ok')) throw new Error(JSON.stringify(answer))
  held.set(who, [...keep, ...answer.fetched])
}

async function promote() {
  const { entries } = await store.jobSets.due('retry', CLOCK, 3)
  const swaps = entries.map(({ text, score: was }) => ({
    text,
    score: was,
    to: { to: 'queue', queue: queueOf(text), text, end: 'back' },
    effects: change(text, 'enqueued', 'enter', 0),
  }))
  await call({ what: 'swap' }, () => store.jobSets.swap('retry', swaps, CLOCK))
}

/** Pulls jobs out of the middle of a queue. */
async function putOff(queue) {
  const { items } = await store.search.scanQueue(queue, '', { limit: 2 })
  const pulls = items.map(({ text, at }) => ({
    text,
    at,
    to: { to: 'retry', text, score: ++score },
    effects: change(text, 'enqueued', 'leave', 0),
  }))
  await call({ what: 'pull' }, () => store.search.pull(queue, pulls, CLOCK))
}

/** Another owner of this process fetches jobs and is claimed; its jobs are rescued. */
async function rescue() {
  const other = await join()
  await settleAndFetch(other, 3)
  await call({ what: 'claim' }, () => store.workers.claim(other))
  const orphaned = await store.workers.orphaned(100)
  const items = orphaned.map(({ owner: whose, queue, ticket, text }) => ({
    owner: whose,
    queue,
    ticket,
    to: { to: 'queue', queue, text: later(text), end: 'front' },
    effects: change(text, 'enqueued', 'keep', 1),
  }))
  await call({ what: 'rescue' }, () => store.workers.rescue(items, CLOCK))
}

// ------------------------------------------------------------------------------------------------- moves

function settlement(taken, fate) {
  const { queue, ticket, text } = taken
  const place = fate === 'front' ? 'keep' : 'leave'
  const status = fate === 'done' ? 'finished' : fate === 'dead' ? 'error' : 'enqueued'
  return {
    queue,
    ticket,
    move:
      fate === 'done'
        ? null
        : fate === 'front'
          ? { to: 'queue', queue, text: later(text), end: 'front' }
          : { to: fate, text: later(text), score: ++score },
    processed: fate === 'front' ? 0 : 1,
    failed: fate === 'retry' || fate === 'dead' ? 1 : 0,
    effects: change(text, status, place, 1),
  }
}
