// The web server: its own page and the begin of an export, and Highkiq's API beside it, which gives the file. One worker runs in this process.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { nodeListener } from 'highkiq/http'
import { ExportSales, hq, pages } from './jobs.js'
import { COLUMNS, countSales, makeTable } from './table.js'

const FILES = {
  '/': ['page.html', 'text/html'],
  '/page.js': ['page.js', 'text/javascript'],
  '/style.css': ['style.css', 'text/css'],
}

makeTable(process.env.EXAMPLE_ROWS ?? 500_000)

const api = nodeListener(hq)
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  const file = request.method === 'GET' && FILES[pathname]
  const [, format] = /^\/exports\/(csv|xlsx)$/.exec(pathname) ?? []
  try {
    if (file) await sendFile(response, file)
    else if (format && request.method === 'POST') await begin(request, response, format)
    else await api(request, response)
  } catch (error) {
    refuse(response, error)
  }
})

/** A job for each page; `total` counts pages, not rows. The file is called as the task is. */
async function begin(request, response, format) {
  // A form of another site can't say this.
  if (request.headers['content-type'] !== 'application/json') throw refusal(415, 'send application/json')
  const name = `sales.${format}`
  const task = await hq.tasks.export(ExportSales, pages(countSales()), { name, format, columns: COLUMNS })
  send(response, 202, { id: task.id })
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

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`export sales at http://127.0.0.1:${server.address().port}`)
})

// Runs jobs until SIGTERM or Ctrl-C, which npm sends a second time. To run workers elsewhere, leave this out and start them
// with `npx highkiq work -r jobs.js`.
await hq.worker({ concurrency: 4 }).run({
  onStop() {
    server.close()
    server.closeAllConnections()
  },
})
await hq.close()
