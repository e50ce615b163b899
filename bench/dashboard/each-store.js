// Runs the parts of a benchmark on each store, in interleaved rounds. Compare only figures of one run: machines change speed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { openStores } from '../core/stores.js'

export const STORES = ['sqlite', 'redis', 'postgres']

/**
 * Runs each `PART.js URL ROWS FOLDER`, which prints an object of figures, and prints the medians as a table.
 * @returns the medians, by figure and store
 */
export async function onEachStore({ parts, rows, rounds, stores, programs }) {
  const opened = openStores()
  const table = {}
  try {
    for (let round = 0; round < rounds; round++) {
      for (const part of parts) {
        for (const store of stores) {
          const fresh = await opened.fresh({ store })
          const url = store === 'sqlite' ? `sqlite:${fresh.url}` : fresh.url
          const figures = await measured(join(programs, `${part}.js`), url, rows, opened.folder)
          await fresh.close()
          for (const [figure, value] of Object.entries(figures)) {
            table[figure] ??= {}
            table[figure][store] ??= []
            table[figure][store].push(value)
          }
        }
      }
    }
  } finally {
    await opened.close()
  }
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]
  for (const row of Object.values(table)) for (const store of Object.keys(row)) row[store] = median(row[store])
  console.log(
    `Node ${process.versions.node}, ${rows.toLocaleString('en')} rows, median of ${rounds} interleaved rounds`,
  )
  console.table(table)
  return table
}

/** Returns the figures of a part. It runs in a process of its own, so that its memory can be measured. */
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
