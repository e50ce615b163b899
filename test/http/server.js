// Serves the API of an app until it is killed: server.js URL. Says its address.
import { Highkiq } from 'highkiq'
import { serve } from 'highkiq/http'

const hq = new Highkiq({ url: process.argv[2] })
hq.job('Row', async () => {})
const { url } = await serve(hq, { port: 0 })
process.stdout.write(`${url}\n`)
