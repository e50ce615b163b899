// Counts the source files and functions that a job crosses from its push to the end of its settlement, on SQLite in
// memory: `node --import tsx scripts/crossed-files.js [--list]`. An ordered job and a row of a task are counted, too.
import { Session } from 'node:inspector/promises'
import { Highkiq } from '../src/index.ts'

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
await worker.start()

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

/** The functions that the questions of this script call, by file. */
const asked = new Map()
for (const ask of [processed, processedOrdered]) {
  for (const [file, names] of await called(ask)) asked.set(file, [...(asked.get(file) ?? []), ...names])
}
const isCrossed = ([file, names]) => !names.every((name) => asked.get(file)?.includes(name))
for (const [name, run] of Object.entries(paths)) {
  await run((await processed()) + 1)
  const to = (await processed()) + 1
  const files = [...(await called(() => run(to)))].filter(isCrossed).sort()
  const functions = files.flatMap(([, names]) => names).length
  console.log(`${name} crosses ${files.length} files and ${functions} functions`)
  if (process.argv.includes('--list')) for (const [file, names] of files) console.log(`  ${file}: ${names.join(', ')}`)
}
await hq.close()
session.disconnect()
