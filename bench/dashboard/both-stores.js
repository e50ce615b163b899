// The parts of a benchmark on both stores in one run, rounds interleaved, for machines drift; compare within one run only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../core/ports.js'

/**
 * Runs `PART.js URL ROWS FOLDER`, which print an object of figures, and prints the medians of all as a table.
 * @returns the medians, by figure and store
 */
export async function bothStores({ name, parts, rows, rounds, programs }) {
  const folder = mkdtempSync(join(tmpdir(), `highkiq-bench-${name}-`))
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
  for (let round = 0; round < rounds; round++) {
    for (const part of parts) {
      for (const [store, url] of Object.entries(stores)) {
        const figures = await measured(join(programs, `${part}.js`), url(n++), rows, folder)
        for (const [figure, value] of Object.entries(figures)) {
          table[figure] ??= {}
          table[figure][store] ??= []
          table[figure][store].push(value)
        }
      }
    }
  }
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
  for (const row of Object.values(table)) for (const store of Object.keys(row)) row[store] = median(row[store])
  console.log(
    `Node ${process.versions.node}, ${rows.toLocaleString('en')} rows, median of ${rounds} interleaved rounds`,
  )
  console.table(table)
  redis.kill()
  await once(redis, 'close')
  rmSync(folder, { recursive: true, force: true })
  return table
}

/** Each part in a process of its own, so that its memory is its own. */
async function measured(program, url, rows, folder) {
  const child = spawn(process.execPath, [program, url, String(rows), folder], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (data) => {
    text += data
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} on ${url} ended with ${code}`)
  return JSON.parse(text)
}

async function reachable(port) {
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
