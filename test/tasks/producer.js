// Adds rows to a task until it is killed: producer.js URL. Prints the task's id once its first rows are stored.
import { Highkiq } from 'highkiq'

const hq = new Highkiq({ url: process.argv[2] })
const Row = hq.job('Row', async () => {})
async function* rows() {
  for (let i = 0; i < 1000; i++) yield []
  await new Promise((resume) => setTimeout(resume, 60_000))
}
await hq.tasks.create(Row, rows(), { onStart: (task) => process.stdout.write(`${task.id}\n`) })
