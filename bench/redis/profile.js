// Where a worker's time goes, by groups and by functions: one more run, with V8's sampling profiler.
import { writeFileSync } from 'node:fs'
import { CONCURRENCY, MEASURES } from './rounds.js'

const NAMES = new Map(
  Object.entries({
    '(garbage collector)': 'GC',
    '(idle)': 'idle',
    '(program)': 'native code outside of JavaScript',
    writeBuffer: 'socket writes',
    writev: 'socket writes',
    writeUtf8String: 'socket writes',
    writeLatin1String: 'socket writes',
    runMicrotasks: 'promises',
  }),
)
const PLACES = [
  [/\/node_modules\/(ioredis\/built\/(resp|DataHandler)|redis-parser)/, 'ioredis, read'],
  [/\/node_modules\/@?ioredis\//, 'ioredis, write'],
  [/\/node_modules\//, 'other packages'],
  [/\/dist\/store\//, 'our store'],
  [/\/dist\//, 'our engine'],
  [/\/bench\//, 'this bench'],
  [/^node:internal\/(process\/promises|async_hooks|promise_hooks)/, 'promises'],
  [/^node:/, 'Node'],
]
const TOP = 25

export async function profileWorker(server, { jobs, peers: [peer] }, path) {
  await server.flush()
  const { profile } = await MEASURES.process(peer, server, jobs, { profile: true })
  writeFileSync(path, JSON.stringify(profile))

  const micros = new Map(profile.nodes.map(({ id }) => [id, 0]))
  for (const [i, id] of profile.samples.entries()) micros.set(id, micros.get(id) + profile.timeDeltas[i])
  const groupOf = groupsOf(profile.nodes)
  const groups = new Map()
  const functions = new Map()
  for (const { id, callFrame } of profile.nodes) {
    add(groups, groupOf.get(id), micros.get(id))
    add(functions, `${callFrame.functionName || '(anonymous)'} ${placeOf(callFrame)}`, micros.get(id))
  }
  const perJob = (map) =>
    [...map]
      .filter(([, value]) => value > 0)
      .sort((a, b) => b[1] - a[1])
      .map(([name, value]) => ({ name, 'µs/job': Number((value / jobs).toFixed(2)) }))
  console.log(`self time of a worker of ${peer}, concurrency ${CONCURRENCY}, while sampled (${path})`)
  console.table(perJob(groups))
  console.table(perJob(functions).slice(0, TOP))
}

/** What is built in (without a file) counts for who called it. */
function groupsOf(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const groups = new Map()
  const visit = (id, inherited) => {
    const { callFrame, children = [] } = byId.get(id)
    const { functionName, url } = callFrame
    const group = NAMES.get(functionName) ?? PLACES.find(([place]) => place.test(url))?.[1] ?? inherited
    groups.set(id, group)
    for (const child of children) visit(child, group)
  }
  visit(nodes[0].id, 'other')
  return groups
}

const add = (map, name, value) => map.set(name, (map.get(name) ?? 0) + value)

function placeOf({ url, lineNumber }) {
  return url ? `${url.replace(/^.*\/(node_modules|dist)\//, '')}:${lineNumber + 1}` : ''
}
