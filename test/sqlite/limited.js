// Opens a store, and prints the error of the first call: limited.js PATH
import { openStore } from '#dist/store/open.js'

const store = openStore(`sqlite:${process.argv[2]}`)
const { code, message } = await store.metrics.totals().catch((error) => error)
process.stdout.write(JSON.stringify({ code, message }))
await store.close()
