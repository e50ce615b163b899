// The web server: its own page and downloads, and Highkiq's API beside it. One worker runs in this process.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { nodeListener } from 'highkiq/http'
import { ExportSales, hq, pages } from './jobs.js'
import { COLUMNS, countSales, makeTable } from './table.js'

const FILES = {
  '/': ['page.html', 'text/html'],
  '/page.js': ['page.js', 'text/javascript'],
  '/style.css': ['style.css', 'text/css'],
}
const TYPES = { csv: 'text/csv', xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' }

makeTable(process.env.EXAMPLE_ROWS ?? 500_000)

const api = nodeListener(hq)
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  const file = request.method === 'GET' && FILES[pathname]
  const [, format] = /^\/exports\/(csv|xlsx)$/.exec(pathname) ?? []
  const [, id, ending] = /^\/exports\/(\w+)\/sales\.(csv|xlsx)$/.exec(pathname) ?? []
  try {
    if (file) await sendFile(response, file)
    else if (format && request.method === 'POST') await begin(request, response, format)
    else if (id && request.method === 'GET') await download(response, id, ending)
    else await api(request, response)
  } catch (error) {
    refuse(response, error)
  }
})

/** A job for each page; `total` counts pages, not rows. */
async function begin(request, response, format) {
  // A form of another site can't say this.
  if (request.headers['content-type'] !== 'application/json') throw refusal(415, 'send application/json')
  const rows = countSales()
  const name = `${rows.toLocaleString('en')} sales as ${format.toUpperCase()}`
  const task = await hq.tasks.export(ExportSales, pages(rows), { name, format, columns: COLUMNS })
  send(response, 202, { id: task.id })
}

/** Begins while pages are still being made, and is never whole in memory: the slower of both sides says how fast it goes. */
async function download(response, id, ending) {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const file = await hq.tasks.get(id).download({ wait: true, signal: gone.signal })
  response.writeHead(200, {
    'content-type': TYPES[ending],
    'content-disposition': `attachment; filename="sales.${ending}"`,
  })
  // What breaks off now must not look whole: the connection is cut, and the browser says so.
  await pipeline(Readable.fromWeb(file), response)
}

async function sendFile(response, [name, type]) {
  const body = await readFile(new URL(`public/${name}`, import.meta.url))
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body)
}

function refusal(status, message) {
  return Object.assign(new Error(message), { status })
}

// Errors of Highkiq have the status that fits, and a text for people.
function refuse(response, error) {
  if (!error.status && !response.destroyed) console.error(error)
  send(response, error.status ?? 500, { error: { code: error.code, message: error.message } })
}

function send(response, status, body) {
  if (response.headersSent) return response.destroy()
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

// To run workers elsewhere, leave this out and start them with `npx highkiq work -r jobs.js`.
const worker = hq.worker({ concurrency: 4 })
await worker.start()

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`export sales at http://127.0.0.1:${server.address().port}`)
})

process.once('SIGTERM', stop).once('SIGINT', stop)
async function stop() {
  server.close()
  server.closeAllConnections()
  await worker.stop()
  await hq.close()
}
