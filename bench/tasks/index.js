// What tracked tasks cost: time against untracked jobs, memory per row, looking at 500,000 rows, imports and exports.
// Both stores in one run, rounds interleaved, for machines drift; compare within one run only.
//   node bench/tasks/index.js [--rows 500000] [--rounds 1] [--only speed,import,export]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '500000' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', default: 'speed,import,export' },
  },
})
const ROWS = Number(values.rows)
const ROUNDS = Number(values.rounds)
const parts = values.only.split(',')

const folder = mkdtempSync(join(tmpdir(), 'highkiq-bench-tasks-'))
const port = await freePort()
const redis = spawn('redis-server', ['--port', String(port), '--save', '', '--dir', folder], { stdio: 'ignore' })
process.once('exit', () => redis.kill('SIGKILL'))
await reachable(port)

const stores = {
  SQLite: () => `sqlite:${mkdtempSync(join(folder, 'db-'))}/bench.db`,
  Redis: (n) => `redis://127.0.0.1:${port}/${n % 16}`,
}

let n = 0
const table = {}
for (let round = 0; round < ROUNDS; round++) {
  for (const part of parts) {
    for (const [store, url] of Object.entries(stores)) {
      const figures = await measured(part, url(n++))
      for (const [name, value] of Object.entries(figures)) {
        table[name] ??= {}
        table[name][store] ??= []
        table[name][store].push(value)
      }
    }
  }
}
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
for (const row of Object.values(table)) for (const store of Object.keys(row)) row[store] = median(row[store])
console.log(`Node ${process.versions.node}, ${ROWS.toLocaleString('en')} rows, median of ${ROUNDS} interleaved rounds`)
console.table(table)
redis.kill()
await once(redis, 'close')
rmSync(folder, { recursive: true, force: true })

/** Each part in a process of its own, so that its memory is its own. */
async function measured(part, url) {
  const program = join(import.meta.dirname, `${part}.js`)
  const child = spawn(process.execPath, [program, url, String(ROWS), folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (data) => {
    text += data
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${part} on ${url} ended with ${code}`)
  return JSON.parse(text)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function reachable(port) {
  const { connect } = await import('node:net')
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const opened = await Promise.race([once(socket, 'connect'), once(socket, 'close')]).then(
      () => !socket.destroyed,
      () => false,
    )
    socket.destroy()
    if (opened) return
    await new Promise((resume) => setTimeout(resume, 20))
  }
}
