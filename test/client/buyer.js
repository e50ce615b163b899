// Writes an order and its job in one transaction, and dies: buyer.js MODE URL.
import { writeSync } from 'node:fs'
import { Highkiq } from 'highkiq'

const [mode, url] = process.argv.slice(2)
const hq = new Highkiq({ url })
const die = () => process.kill(process.pid, 'SIGKILL')
if (mode === 'middleware') {
  hq.client.use(async (_payload, next) => {
    const after = await next()
    die()
    return after
  })
}

const buy = (id) =>
  hq.transaction((db) => {
    db.prepare('INSERT INTO "order" VALUES (?)').run(id)
    void hq.push({ class: 'Order', args: [id] })
    if (mode === 'inside') die()
  })

if (mode === 'loop') {
  for (let id = 1; ; id++) {
    await buy(id)
    writeSync(1, `${id}\n`)
  }
}
await buy(1)
if (mode === 'after') die()
