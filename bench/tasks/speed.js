// Tracked jobs against untracked ones, creation counted on both sides; then looks at a task of that many rows.
import { BusinessFailure } from 'highkiq'
import { Redis } from 'ioredis'
import { appOn, each, seconds } from '../app.js'

const [, , url, count] = process.argv
const ROWS = Number(count)
const hq = appOn(url)
let done = 0
let wanted = 0
let reached = () => {}
const Noop = hq.job('Noop', { retry: 0 }, async (_ctx, n) => {
  if (++done === wanted) reached()
  if (n % 50 === 49 && mayFail) throw new BusinessFailure('no', { code: n % 100 === 49 ? 'odd' : 'even' })
})
let mayFail = false
const figures = {}
function* rows() {
  for (let i = 0; i < ROWS; i++) yield [i, 'abcdefghijkl']
}
const all = () => {
  done = 0
  wanted = ROWS
  return new Promise((resolve) => {
    reached = resolve
  })
}

const redis = url.startsWith('redis') ? new Redis(url) : undefined
const used = async () => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))[1])

await hq.worker({ concurrency: 50 }).start()
const untracked = await seconds(async () => {
  const ended = all()
  await Noop.performBulk(rows())
  await ended
})
let task
const tracked = await seconds(async () => {
  task = await hq.tasks.create(Noop, rows())
  await task.wait({ every: 20 })
})
figures['untracked s'] = untracked
figures['tracked s'] = tracked
figures['tracked / untracked (aim 1.5)'] = Number((tracked / untracked).toFixed(2))

if (redis) {
  await task.delete()
  const before = await used()
  task = await hq.tasks.create(Noop, rows())
  await task.wait({ every: 20 })
  figures['bytes a finished event (aim 48)'] = Number((((await used()) - before) / ROWS).toFixed(1))
  await task.delete()
  const empty = await used()
  const other = hq.job('Waiting', { queue: 'nobody' }, async () => {})
  task = await hq.tasks.create(other, rows())
  const args = Buffer.byteLength(JSON.stringify([ROWS - 1, 'abcdefghijkl']))
  figures[`bytes a waiting row of ${args} (aim ${2 * args + 16 + 20}, its event in it)`] = Number(
    (((await used()) - empty) / ROWS).toFixed(1),
  )
  await task.delete()
}

mayFail = true
task = await hq.tasks.create(Noop, rows())
await task.wait({ every: 20 })
figures['status() ms (aim 1)'] = await each(200, () => task.status())
const page = (after, code) =>
  hq.store.tasks.events(task.id, { status: ['failed'], after, limit: 100, ...(code && { code }) })
// Who serves pages has done so before.
await each(20, (i) => page(ROWS / 2 + i))
figures['page of 100 rejected rows ms (aim 5)'] = await each(50, (i) => page(i * 1000))
figures['the same, of one code ms'] = await each(20, (i) => page(i * 1000, 'odd'))
figures['reasons() ms'] = await each(10, () => task.reasons())
redis?.disconnect()
console.log(JSON.stringify(figures))
process.exit()
