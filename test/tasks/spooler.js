// Copies a stream into a folder and keeps the copy until it is killed: spooler.js FOLDER. Prints a line once the copy is there.
import { Readable } from 'node:stream'
import { openSource } from '#dist/tasks/spreadsheet/source.js'
import { spooled } from '#dist/tasks/spreadsheet/spool.js'

await spooled(await openSource(Readable.from([Buffer.from('sku')])), process.argv[2])
process.stdout.write('copied\n')
setInterval(() => {}, 60_000)
