// Imports a file into a store: large-row.js URL FILE. Prints how many rows the task has.
import { Highkiq } from 'highkiq'

const [url, file] = process.argv.slice(2)
const hq = new Highkiq({ url, maxArgsBytes: { warn: 1e9, refuse: 1e9 } })
const Row = hq.job('Row', async () => {})
const task = await hq.tasks.import(Row, file, { format: 'ndjson' })
process.stdout.write(`${(await task.status()).total}\n`)
await hq.close()
