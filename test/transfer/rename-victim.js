// Renames queue q to new, and is killed at a call that moves jobs: rename-victim.js URL {"at":N,"answered":BOOLEAN}. With
// `answered` it is killed when this call has ended, else while it is under way.
import { Highkiq } from 'highkiq'
import { PORT } from '#dist/app.js'
import { renamePass } from '#dist/inspect/rename-queue.js'

const [url, options] = process.argv.slice(2)
const { at, answered } = JSON.parse(options)
const app = new Highkiq({ url })[PORT]
const kill = () => process.kill(process.pid, 'SIGKILL')
let calls = 0

for (const [area, name] of [
  [app.store.search, 'pull'],
  [app.store.jobSets, 'swap'],
]) {
  const move = area[name].bind(area)
  area[name] = async (...args) => {
    const isLast = ++calls === at
    if (isLast && !answered) setImmediate(kill)
    const answers = await move(...args)
    if (isLast) kill()
    return answers
  }
}
await renamePass(app, 'q', 'new')
