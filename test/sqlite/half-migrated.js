// Runs all statements of the last migration but the final one, reports that, and waits to be killed: half-migrated.js PATH
import { openDriver } from '#dist/store/sqlite/file/open-driver.js'
import { migrations } from '#dist/store/sqlite/sql.generated.js'

const db = await openDriver(process.argv[2])
db.exec('BEGIN IMMEDIATE')
db.exec(migrations.at(-1).replace(/[^;]*;\s*$/, ''))
process.send('half migrated')
setInterval(() => {}, 1000)
