// The web server: its own page, and Highkiq's API beside it. One worker runs in this process.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { nodeListener } from 'highkiq/http'
import { hq } from './jobs.js'

const FILES = { '/': 'page.html', '/page.js': 'page.js', '/style.css': 'style.css' }
const TYPES = { html: 'text/html', js: 'text/javascript', css: 'text/css' }

const api = nodeListener(hq)
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  const file = request.method === 'GET' && FILES[pathname]
  const [, id] = /^\/sign-ups\/(\w+)\/corrections$/.exec(pathname) ?? []
  try {
    if (file) await sendFile(response, file)
    else if (id && request.method === 'POST') await retryCorrected(request, response, id)
    else await api(request, response)
  } catch (error) {
    refuse(response, error)
  }
})

/** The rows that the seller corrected run again; the others stay as they are. */
async function retryCorrected(request, response, id) {
  // A page of another site can't send this type without asking first.
  if (request.headers['content-type'] !== 'application/json') throw refusal(415, 'send application/json')
  const corrections = parse(await text(request))
  const rows = corrections.map(({ index, product }) => ({ index, args: [product] }))
  send(response, 200, await hq.tasks.get(id).retry({ rows }))
}

async function text(request) {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk
    if (body.length > 1_000_000) throw refusal(413, 'these are too many')
  }
  return body
}

async function sendFile(response, name) {
  const body = await readFile(new URL(`public/${name}`, import.meta.url))
  response.writeHead(200, { 'content-type': `${TYPES[name.split('.')[1]]}; charset=utf-8` }).end(body)
}

function parse(body) {
  try {
    const list = JSON.parse(body)
    if (Array.isArray(list)) return list
  } catch {}
  throw refusal(400, 'send a list of { index, product }')
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
  console.log(`sign up products at http://127.0.0.1:${server.address().port}`)
})

// Runs jobs until SIGTERM or Ctrl-C, which npm sends a second time. To run workers elsewhere, leave this out and start them
// with `npx highkiq work -r jobs.js`.
await hq.worker({ concurrency: 10 }).run({
  onStop() {
    server.close()
    server.closeAllConnections()
  },
})
await hq.close()
