// Holds the table of who may import whom. Each room names the rooms it may import; a room's own files are always allowed.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** What an app is made of, and what its users see of it. */
const PARTS = [
  'job',
  'store/contract',
  'client',
  'events',
  'inspect',
  'worker',
  'tasks',
  'ordered',
  'metrics',
  'iterable',
  'cron',
  'cancellation',
  'unique',
  'batches',
  'alerts',
  'version.generated',
]

/** What the rooms of a worker know of it. */
const PORT = ['events/recording', 'worker/background-service', 'worker/engine', 'worker/executor', 'worker/plugin']

/** The rooms of a store whose statements are in SQL; `at` has the connection. */
function sqlStore(store, at, thread) {
  const base = ['job', 'load', 'store/contract', 'store/sql', `${store}/sql.generated`, `${store}/${at}`]
  const rooms = (...names) => names.map((name) => `${store}/${name}`)
  return {
    [`${store}/sql.generated`]: [],
    [`${store}/${at}`]: ['job', 'load', 'store/contract', `${store}/sql.generated`, ...thread],
    [`${store}/queues`]: base,
    [`${store}/ledgers`]: [...base, ...rooms('queues')],
    [`${store}/jobs`]: [...base, ...rooms('queues', 'ledgers')],
    [`${store}/tasks`]: [...base, ...rooms('queues', 'ledgers', 'jobs')],
    [`${store}/workers`]: [...base, ...rooms('queues', 'ledgers', 'jobs', 'tasks')],
    [`${store}/ordered`]: [...base, ...rooms('workers')],
    [`${store}/transfers`]: [...base, ...rooms('jobs', 'tasks', 'ordered')],
    [store]: ['job', 'store/contract', store],
  }
}

const ROOMS = {
  job: [],
  load: ['job', 'version.generated'],
  i18n: [],
  thread: ['load'],
  'store/contract': ['job'],
  'store/sql': ['job', 'store/contract'],
  ...sqlStore('store/sqlite', 'file', ['thread']),
  ...sqlStore('store/postgres', 'server', []),
  'store/redis/lua.generated': [],
  'store/redis/server': ['job', 'load', 'store/contract', 'store/redis/lua.generated'],
  'store/redis/jobs': ['job', 'store/contract', 'store/redis/lua.generated', 'store/redis/server'],
  'store/redis/tasks': ['job', 'store/contract', 'store/redis/lua.generated', 'store/redis/server', 'store/redis/jobs'],
  'store/redis/workers': [
    ...['job', 'load', 'store/contract', 'store/redis/lua.generated', 'store/redis/server'],
    ...['store/redis/jobs', 'store/redis/tasks'],
  ],
  'store/redis/ordered': [
    ...['job', 'store/contract', 'store/redis/lua.generated', 'store/redis/server', 'store/redis/workers'],
  ],
  'store/redis/leftovers': [
    ...['job', 'store/contract', 'store/redis/lua.generated', 'store/redis/server', 'store/redis/ordered'],
  ],
  'store/redis': ['store/contract', 'store/redis'],
  'store/sharded': ['job', 'load', 'store/contract'],
  'store/open': ['job', 'store/contract', 'store/sqlite', 'store/redis', 'store/postgres', 'store/sharded'],
  'store/index': ['store/contract', 'store/open'],
  'app/port': ['job', 'store/contract', 'alerts/options', 'client', 'worker/engine', 'worker/plugin'],
  'events/recording': ['store/contract'],
  'events/job-event': ['job', 'store/contract', 'worker/plugin'],
  events: ['job', 'store/contract', 'worker/plugin', 'app/port', 'events/recording', 'events/job-event'],
  client: ['job', 'store/contract', 'app/port', 'events/recording', 'events/job-event'],
  inspect: ['job', 'store/contract', 'app/port', 'batches/jids'],
  worker: ['job', 'store/contract', 'events/recording'],
  'worker/run': ['job', 'store/contract', ...PORT],
  'worker/threads': ['job', 'load', 'thread', ...PORT],
  'worker/lease': ['job', 'store/contract', 'log/line', 'thread', ...PORT, 'worker/run'],
  'worker/loop': ['job', 'store/contract', 'events/job-event', ...PORT, 'worker/queue-order', 'worker/run'],
  'worker/lifecycle': ['job', 'store/contract', 'inspect/dead-set', 'inspect/process', 'worker'],
  'tasks/spreadsheet': ['job', 'worker/lease/host'],
  tasks: ['job', 'store/contract', 'client', 'inspect', 'worker', 'i18n', 'tasks/spreadsheet', 'app/port'],
  ordered: ['job', 'store/contract', 'client', 'inspect', 'worker', 'app/port'],
  metrics: ['job', 'store/contract', 'inspect/stats', 'ordered/queue', 'worker', 'app/port'],
  iterable: ['job', 'store/contract', 'worker', 'tasks/spreadsheet', 'app/port'],
  cron: ['job', 'store/contract', 'client', 'inspect', 'worker', 'app/port'],
  unique: ['job', 'store/contract', 'client', 'inspect', 'worker', 'app/port'],
  batches: ['job', 'store/contract', 'events/job-event', 'client', 'inspect', 'worker', 'app/port'],
  alerts: [
    'job',
    'load',
    'store/contract',
    'i18n',
    'inspect',
    'ordered',
    'tasks',
    'worker',
    'version.generated',
    'app/port',
  ],
  transfer: ['job', 'store/contract', 'inspect'],
  doctor: [
    'app/unserved-queues',
    'index',
    'inspect',
    'job',
    'ordered/unowned-shards',
    'store/contract',
    'tasks',
    'transfer',
    'version.generated',
  ],
  cancellation: ['job', 'store/contract', 'inspect', 'worker', 'app/port', 'batches/cancel', 'batches/jids'],
  activejob: ['job', 'client'],
  app: [...PARTS, 'app/port', 'environment', 'store/open', 'activejob', 'log'],
  environment: ['job'],
  'log/line': ['job'],
  log: ['job', 'environment', 'load', 'log/line'],
  'version.generated': [],
  'http-client': ['job/error-codes'],
  index: [...PARTS, 'app'],
  testing: ['app', 'job', 'client', 'store/contract'],
  nestjs: ['app', 'job', 'worker'],
  otel: ['app', 'job', 'client', 'ordered', 'worker', 'version.generated'],
  'http/access': ['app', 'inspect', 'job', 'tasks'],
  'http/schemas': ['job', 'store/contract', 'tasks', 'http/access'],
  'http/live': [
    'alerts',
    'app',
    'doctor',
    'index',
    'inspect',
    'job',
    'metrics',
    'ordered',
    'tasks',
    'http/access',
    'http/schemas',
  ],
  'http/server': [
    'app',
    'index',
    'inspect/store-reads',
    'job',
    'load',
    'tasks',
    'i18n',
    'http/access',
    'http/live',
    'http/schemas',
  ],
  'http/routes': [
    'app',
    'index',
    'environment',
    'batches',
    'client',
    'events',
    'inspect',
    'job',
    'metrics',
    'tasks',
    'http/access',
    'http/live',
    'http/server',
    'http/schemas',
  ],
  'http/submitter': [
    ...['index', 'job', 'tasks', 'i18n'],
    ...['http/access', 'http/server', 'http/routes/tasks/queries', 'http/schemas'],
  ],
  http: [
    'app',
    'index',
    'job',
    'tasks',
    'http/access',
    'http/schemas',
    'http/live',
    'http/server',
    'http/routes',
    'http/submitter',
  ],
  cli: [
    'alerts/options',
    'app',
    'batches',
    'doctor',
    'events/job-event',
    'index',
    'inspect',
    'http',
    'job',
    'store/contract',
    'store/redis/server',
    'store/postgres/server',
    'tasks',
    'transfer',
    'environment',
    'load',
    'log',
    'log/line',
    'version.generated',
  ],
}

const src = resolve(import.meta.dirname, '../src')

const files = readdirSync(src, { recursive: true })
  .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.test.ts'))
  .map((file) => file.replaceAll('\\', '/'))

/** The most special room that holds a file. */
function roomOf(file) {
  return Object.keys(ROOMS)
    .filter((room) => file === `${room}.ts` || file.startsWith(`${room}/`))
    .sort((a, b) => b.length - a.length)[0]
}

const within = (file, place) => file === `${place}.ts` || file.startsWith(`${place}/`)

const problems = []
const graph = new Map()
for (const file of files) {
  const room = roomOf(file)
  if (!room) {
    problems.push(`${file}: belongs to no room; add it to scripts/check-rooms.js`)
    continue
  }
  const text = readFileSync(join(src, file), 'utf8')
  const imports = [...text.matchAll(/(?:^|\n)(?:import|export)\b[^'"]*?['"](\.[^'"]+)['"]/g)].map((match) => match[1])
  const targets = imports.map((target) => relative(src, resolve(src, dirname(file), target)).replaceAll('\\', '/'))
  graph.set(file, targets)
  for (const target of targets) {
    if (target.startsWith('..')) problems.push(`${file} imports ${target}, outside of src`)
    else if (roomOf(target) !== room && !ROOMS[room].some((place) => within(target, place))) {
      problems.push(`${file} imports ${target}: ${room} may import ${ROOMS[room].join(', ') || 'nothing'}`)
    }
  }
}

const state = new Map()
function visit(file, path) {
  if (state.get(file) === 'done') return
  if (state.get(file) === 'open') {
    problems.push(`a cycle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`)
    return
  }
  state.set(file, 'open')
  for (const target of graph.get(file) ?? []) visit(target, [...path, file])
  state.set(file, 'done')
}
for (const file of graph.keys()) visit(file, [])

for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
console.log(`${files.length} files keep to their rooms`)
