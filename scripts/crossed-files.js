// Counts the source files and functions that a job crosses from its push to the end of its settlement, on SQLite in
// memory: `node --import tsx scripts/crossed-files.js [--list] [--check]`. An ordered job and a row of a task are counted,
// too. With --check it exits with 1 when one of them crosses more files than it may.
import { Session } from 'node:inspector/promises'
import { Highkiq } from '../src/index.ts'

/** The most files. A job that does not use a feature calls none of its code: ask for the feature before the call. */
const MOST = { 'a job': 40, 'an ordered job': 36, 'a row of a task': 50 }
/** Each path is run so often, and the shortest run counts: something else of the worker may run meanwhile. */
const RUNS = 5
/** A worker without jobs has done in these milliseconds what it does at its start. */
const IDLE_MS = 500

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** Runs `work` and returns the functions of src that were called meanwhile, by file. */
async function called(work) {
  await session.post('Profiler.takePreciseCoverage')
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const files = new Map()
  for (const { url, functions } of result) {
    const [, file] = /\/src\/(.*\.ts)/.exec(url) ?? []
    if (!file) continue
    const names = functions.filter(({ functionName, ranges }) => functionName && ranges[0].count > 0)
    if (names.length > 0)
      files.set(
        file,
        names.map(({ functionName }) => functionName),
      )
  }
  return files
}

const quiet = { debug() {}, info() {}, warn() {}, error: console.error, child: () => quiet }
const hq = new Highkiq({ url: 'sqlite::memory:', logger: quiet })
let ran = () => {}
const next = () =>
  new Promise((resolve) => {
    ran = resolve
  })
const Job = hq.job('Job', async () => ran())
const Ordered = hq.ordered('Ordered', async () => ran())
const Row = hq.job('Row', async () => ran())
const worker = hq.worker({ queues: ['default'], concurrency: 1 })

const processed = async () => (await hq.stats()).processed
const processedOrdered = async () => (await Ordered.stats()).processed
const until = async (n, counted = processed) => {
  while ((await counted()) < n) await new Promise((resolve) => setTimeout(resolve, 5))
}

const paths = {
  'a job': async (n) => {
    const ended = next()
    await Job.performAsync()
    await ended
    await until(n)
  },
  'an ordered job': async () => {
    const n = (await processedOrdered()) + 1
    const ended = next()
    await Ordered.performAsync({ id: n })
    await ended
    await until(n, processedOrdered)
  },
  'a row of a task': async (n) => {
    const ended = next()
    const task = await hq.tasks.create(Row, [[n]])
    await ended
    await until(n)
    await task.status()
  },
}

const started = async () => {
  await worker.start()
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
}
/** The functions that a worker without jobs and the questions of this script call, by file. */
const asked = new Map()
for (const ask of [started, processed, processedOrdered]) {
  for (const [file, names] of await called(ask)) asked.set(file, [...(asked.get(file) ?? []), ...names])
}
const isCrossed = ([file, names]) => !names.every((name) => asked.get(file)?.includes(name))
const [lists, checks] = ['--list', '--check'].map((option) => process.argv.includes(option))
const tooLong = []
for (const [name, run] of Object.entries(paths)) {
  await run((await processed()) + 1)
  let files
  for (let n = 0; n < RUNS; n++) {
    const to = (await processed()) + 1
    const crossed = [...(await called(() => run(to)))].filter(isCrossed).sort()
    if (!files || crossed.length < files.length) files = crossed
  }
  const functions = files.flatMap(([, names]) => names).length
  const isTooLong = checks && files.length > MOST[name]
  if (isTooLong) tooLong.push(name)
  if (!checks || isTooLong) console.log(`${name} crosses ${files.length} files and ${functions} functions`)
  if (lists || isTooLong) for (const [file, names] of files) console.log(`  ${file}: ${names.join(', ')}`)
}
await hq.close()
session.disconnect()
for (const name of tooLong) console.error(`${name} crosses more than ${MOST[name]} files (scripts/crossed-files.js)`)
if (tooLong.length > 0) process.exitCode = 1
