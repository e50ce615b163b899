// One mover of the chaos tests: mover.js FROM TO. It passes until the source is empty, and prints a line for each page and each
// pass. With `undo` behind the stores it moves back what another mover has left between them.
import { openStore } from '../../dist/store/open.js'
import { isDone, StoreMover } from '../../dist/transfer/mover.js'

const [from, to, undo] = process.argv.slice(2)
const [source, target] = [openStore(from), openStore(to)]
const mover = new StoreMover({ source, target, onMoved: () => process.stdout.write('page\n') })
if (undo) await mover.undo()
else await mover.begin()
process.stdout.write('ready\n')
for (let empty = 0; !undo && empty < 2; ) {
  const pass = await mover.pass()
  process.stdout.write('pass\n')
  empty = isDone(pass) ? empty + 1 : 0
  await new Promise((resume) => setTimeout(resume, 20))
}
await Promise.all([source.close(), target.close()])
