// The web server: its own page, and Highkiq's API beside it. One worker runs in this process.
import { createReadStream, existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { nodeListener } from 'highkiq/http'
import { hq } from './jobs.js'
import { makeSample } from './sample.js'

const SAMPLE = 'products.xlsx'
const MOST_BYTES = 100_000_000
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
const FILES = {
  '/': ['public/page.html', 'text/html; charset=utf-8'],
  '/page.js': ['public/page.js', 'text/javascript; charset=utf-8'],
  '/client.js': [import.meta.resolve('highkiq/client'), 'text/javascript; charset=utf-8'],
  '/style.css': ['public/style.css', 'text/css; charset=utf-8'],
}

if (!existsSync(SAMPLE)) await makeSample(SAMPLE, Number(process.env.EXAMPLE_ROWS ?? 10_000))

// `imports: { ImportProduct: { validate: schema } }` would refuse rows before a job is made of them, for instance by zod.
const api = nodeListener(hq, { limits: { uploadBytes: MOST_BYTES } })
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  const file = request.method === 'GET' && FILES[pathname]
  const [, id] = /^\/imports\/(\w+)\/corrected$/.exec(pathname) ?? []
  try {
    if (file) sendFile(response, fileURLToPath(new URL(file[0], import.meta.url)), file[1])
    else if (request.method === 'GET' && pathname === '/products.xlsx') sendFile(response, SAMPLE, XLSX)
    else if (id && request.method === 'POST') await takeBack(request, response, id)
    else await api(request, response)
  } catch (error) {
    refuse(response, error)
  }
})

/** The report of the refused rows, corrected: its rows run again. It is read while it is sent. */
async function takeBack(request, response, id) {
  // A page of another site can't send this type without asking first.
  if (request.headers['content-type'] !== XLSX) throw refusal(415, 'send a workbook')
  if (!(request.headers['content-length'] <= MOST_BYTES)) throw refusal(413, 'this workbook is too large')
  send(response, 200, await hq.tasks.get(id).retry({ report: request }))
}

function sendFile(response, path, type) {
  response.writeHead(200, { 'content-type': type })
  createReadStream(path)
    .on('error', () => response.destroy())
    .pipe(response)
}

function refusal(status, message) {
  return Object.assign(new Error(message), { status })
}

// Errors of Highkiq have the status that fits, and a text for people.
function refuse(response, error) {
  if (!error.status) console.error(error)
  send(response, error.status ?? 500, { error: { code: error.code, message: error.message } })
}

function send(response, status, body) {
  if (response.headersSent) return response.destroy()
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`import a workbook at http://127.0.0.1:${server.address().port}`)
})

// Runs jobs until SIGTERM or Ctrl-C, which npm sends a second time. To run workers elsewhere, leave this out and start them
// with `npx highkiq work -r jobs.js`.
await hq.worker({ concurrency: 20 }).run({
  onStop() {
    server.close()
    server.closeAllConnections()
  },
})
await hq.close()
