// Imports a file, or goes on where the one before it was killed: importer.js URL FOLDER FILE. Exits 0 when all is stored.
import { importApp, validate } from './import-jobs.js'

const [url, folder, file] = process.argv.slice(2)
const { hq, Row, Done } = importApp(url, folder)
const [begun] = (await hq.tasks.list()).items
const how = begun ? { resume: begun.id } : { onDone: Done, window: 200 }
try {
  await hq.tasks.import(Row, file, { validate, allowDuplicate: true, ...how })
} catch (thrown) {
  // The importer before was killed after its last row was stored, and before it could exit.
  if (thrown.code !== 'TASK_ENDED') throw thrown
}
await hq.close()
