import { writeSync } from 'node:fs'
import { openStore } from '#dist/store/open.js'
import { chance } from '../chance.js'
import { CLOCK } from '../workers/stories.js'

/**
 * A process that is killed while it works on an ordered queue: `node ordered-victim.js URL SCRIPT K SEED`. (Plain
 * JavaScript, for it is started often.) `life` goes through every kind of call and stops, by its own hand, after call K;
 * `churn` runs without end.
 *
 * It says on its standard output what it is about to do and that it was done. Each payload is pushed once.
 */
const [url = '', script = 'life', k = '0', seed = '1'] = process.argv.slice(2)
const store = openStore(url)
const random = chance(Number(seed))
const dice = (n) => Math.floor(random() * n)
const QUEUE = 'o'

let calls = 0
let pushed = 0
let owners = 0
let owner = ''
let tokens = []
let held = []

await play()

async function play() {
  await push(20)
  await join()
  if (script === 'life') {
    for (const kind of ['requeue', 'failed', 'dead', 'done']) {
      await settleAndFetch(3, () => kind)
      await push(4)
    }
    await settleAndFetch(3, () => 'failed')
    await resurrect()
    await reshard()
    await move()
    await settleAndFetch(3)
    await act('kill')
    await move()
    await takeOver()
    await settleAndFetch(5)
    await release()
    await leave()
    await push(3)
    throw new Error(`the course has only ${calls} calls`)
  }
  const steps = [
    () => push(5),
    () => settleAndFetch(4),
    () => settleAndFetch(3),
    () => settleAndFetch(2),
    resurrect,
    () => act('kill'),
    () => act('now'),
  ]
  const seldom = [reshard, move, move, takeOver, release]
  for (;;) await (dice(4) > 0 ? steps[dice(steps.length)] : seldom[dice(seldom.length)])?.()
}

/** Says it, does it, says that it is done, and dies if this was the last call. */
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

async function push(count) {
  const items = Array.from({ length: count }, () => {
    const payload = `"${process.pid}/${++pushed}"`
    return { id: `${dice(8)}`, payload, score: pushed, performIn: 0 }
  })
  const pushes = items.map(({ payload }) => payload)
  await call({ what: 'push', pushes }, () => store.ordered.push(QUEUE, 2, items, CLOCK))
}

async function join() {
  owner = `victim:${process.pid}:${++owners}`
  await store.workers.join(owner, { queues: [QUEUE], seconds: 60, host: 'gallows' })
  await call({ what: 'joinOrdered' }, () => store.ordered.join(QUEUE, owner))
  held = []
  tokens = []
  await own()
}

async function own() {
  const assignments = await store.ordered.assignments(QUEUE)
  for (const { shard, owner: whose } of assignments?.owners ?? []) {
    if (whose !== null) continue
    const answer = await call({ what: 'ownShard' }, () => store.ordered.acquireShard(QUEUE, shard, owner, 3, CLOCK))
    if (answer) tokens.push([shard, answer.token])
  }
}

async function settleAndFetch(n, fate) {
  const ending = held.filter(() => dice(4) > 0)
  const kinds = ['done', 'failed', 'dead', 'requeue']
  const settlements = ending.map(({ payloads: _, ...one }) => ({
    ...one,
    end: endOf(fate?.() ?? kinds[dice(4)] ?? 'done'),
  }))
  const ends = ending.flatMap(({ payloads }, i) => (settlements[i]?.end.kind === 'done' ? payloads : []))
  const fetch = tokens.map(([shard, token]) => ({ shard, token, n }))
  const answer = await call({ what: 'settleAndFetch', ends }, () =>
    store.ordered.settleAndFetch(QUEUE, owner, { now: CLOCK, settlements, fetch, maxPayloads: 3 }),
  )
  if (answer.settled.some((one) => one !== 'ok')) throw new Error(JSON.stringify(answer))
  const fetched = answer.fetched.flatMap(({ ids }, i) => {
    const [shard = 0, token = 0] = tokens[i] ?? []
    return ids.map(({ id, ticket, payloads }) => ({
      id,
      ticket,
      shard,
      token,
      payloads: payloads.map(([text]) => text),
    }))
  })
  held = [...held.filter((one) => !ending.includes(one)), ...fetched]
}

function endOf(kind) {
  if (kind === 'failed' || kind === 'snoozed') return { kind, state: { performIn: 0, retryCount: 0, error: 'x' } }
  return kind === 'dead' ? { kind, error: 'x' } : { kind }
}

async function resurrect() {
  const ids = (await store.ordered.morgue(QUEUE, 'id', { limit: 2 })).map(({ id }) => id)
  await call({ what: 'resurrect' }, () => store.ordered.resurrect(QUEUE, ids, CLOCK))
}

async function act(what) {
  await call({ what }, () => store.ordered.act(QUEUE, what, [`${dice(8)}`], { now: CLOCK }))
}

async function reshard() {
  await call({ what: 'reshard' }, () => store.ordered.reshard(QUEUE, 1 + dice(4)))
}

async function move() {
  await call({ what: 'moveShards' }, () => store.ordered.moveShards(QUEUE))
  await own()
}

/** It is given up, and another owner of this process takes over. */
async function takeOver() {
  await call({ what: 'claim' }, () => store.workers.claim(owner))
  await join()
}

async function release() {
  const [shard, token] = tokens.shift() ?? [0, 0]
  held = held.filter((one) => one.shard !== shard)
  await call({ what: 'releaseShard' }, () => store.ordered.releaseShard(QUEUE, shard, owner, token, CLOCK))
  await own()
}

async function leave() {
  held = []
  await call({ what: 'leaveOrdered' }, () => store.ordered.leave(QUEUE, owner, CLOCK))
}
