// Imports a file, or goes on where the one before it was killed: importer.js URL FOLDER FILE. Exits 0 when all is stored.
import { HighkiqError } from 'highkiq'
import { importApp, validate } from './import-jobs.js'

const [url, folder, file] = process.argv.slice(2)
const { hq, Row, Done } = importApp(url, folder)
const [begun] = (await hq.tasks.list()).items
const how = begun ? { resume: begun.id } : { onDone: Done, window: 200 }

/** Each importer loses the answer to its first chunk of rows. The first importer is killed when its second chunk is stored. */
const { tasks } = hq.store
const addRows = tasks.addRows.bind(tasks)
let stored = 0
tasks.addRows = async (...chunk) => {
  const answer = await addRows(...chunk)
  const [, , , rows] = chunk
  if (rows.length === 0 || !answer.ok) return answer
  stored++
  if (stored === 1) throw new HighkiqError('STORE_TIMEOUT', 'the answer was lost')
  // The second call repeats the first one.
  if (stored === 3 && !begun) process.kill(process.pid, 'SIGKILL')
  return answer
}

try {
  await hq.tasks.import(Row, file, { validate, allowDuplicate: true, ...how })
} catch (thrown) {
  // The importer before was killed after its last row was stored, and before it could exit.
  if (thrown.code !== 'TASK_ENDED') throw thrown
}
await hq.close()
